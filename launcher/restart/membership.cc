// Hosts are compared by name. A host is in one list at a time: hosts, spares or away.
#include "launcher/restart/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

namespace dtl {
namespace {

// The result refers to `name`, which must outlive it.
auto named(const std::string& name) {
  return [&name](const Host& host) { return host.name == name; };
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has(const std::vector<Host>& hosts, const std::string& name) {
  return std::any_of(hosts.begin(), hosts.end(), named(name));
}

// Doubles `first` `times` times, up to `longest`.
JobTime doubled(JobTime first, int times, JobTime longest) {
  JobTime wait = first;
  for (int i = 1; i < times && wait < longest; ++i) wait *= 2;
  return std::min(wait, longest);
}

// From when on the host may join: at once if it was never lost; each loss doubles the wait.
JobTime welcome_from(const Membership& members, const std::string& name) {
  const auto past = members.past.find(name);
  if (past == members.past.end() || past->second.losses == 0) return JobTime{0};
  const JobTime back = past->second.since +
                       doubled(JobTime(kTakeBack), past->second.losses, JobTime(kLongestTakeBack));
  return std::max(back, past->second.goes);
}

// How many more hosts the job can use.
std::size_t room(const Membership& members) {
  const auto most = static_cast<std::size_t>(members.range.most);
  // A full job has room only for a host that replaces one that leaves.
  if (members.of_ranks) {  // placement decides how many ranks remain
    const bool is_full = static_cast<std::size_t>(members.ranks) >= most;
    return is_full && members.unlisted.empty() ? 0 : members.away.size();
  }
  // Spare hosts replace hosts that leave first.
  const std::size_t staying =
      members.hosts.size() - members.unlisted.size() + members.spares.size();
  return most > staying ? most - staying : 0;
}

// Hosts that may join now and have answered, in order.
std::vector<std::string> willing(const Membership& members, JobTime now) {
  std::vector<std::string> names;
  for (const Host& host : members.away) {
    if (names.size() == room(members)) break;
    if (has(members.answering, host.name) && welcome_from(members, host.name) <= now) {
      names.push_back(host.name);
    }
  }
  return names;
}

// Updates known hosts from the list, above all their slots. It counts from the next epoch on: the
// ranks of this one are placed.
void renew(std::vector<Host>& hosts, const std::vector<Host>& listed) {
  for (Host& host : hosts) {
    const auto now = std::find_if(listed.begin(), listed.end(), named(host.name));
    if (now != listed.end()) host = *now;
  }
}

// Replaces the host by a spare one if there is one.
void remove_host(Membership& members, const std::string& name) {
  const auto at = std::find_if(members.hosts.begin(), members.hosts.end(), named(name));
  if (at == members.hosts.end()) return;
  if (members.spares.empty()) {
    members.hosts.erase(at);
  } else {
    *at = std::move(members.spares.front());
    members.spares.erase(members.spares.begin());
  }
}

void fill_up(Membership& members) {
  const auto most = static_cast<std::size_t>(members.range.most);
  while (!members.of_ranks && members.hosts.size() < most && !members.spares.empty()) {
    members.hosts.push_back(std::move(members.spares.front()));
    members.spares.erase(members.spares.begin());
  }
}

// A long epoch shows that the hosts are stable, so the wait starts from the minimum again.
void count_growth(Membership& members, JobTime now) {
  const bool soon = now - members.began < kLongestSettled;
  members.growths = soon ? members.growths + 1 : 0;
}

}  // namespace

void begin_epoch(Membership& members, int ranks, JobTime now) {
  members.began = now;
  members.ranks = ranks;
}

void list_hosts(Membership& members, const std::vector<Host>& listed, JobTime now) {
  const auto gone = [&](const Host& host) { return !has(listed, host.name); };
  // Nothing runs on spare hosts and those in `away`, so unlisted ones are dropped at once.
  std::erase_if(members.spares, gone);
  std::erase_if(members.away, gone);
  for (std::vector<Host>* known : {&members.hosts, &members.spares, &members.away}) {
    renew(*known, listed);
  }
  members.unlisted.clear();
  for (const Host& host : members.hosts) {
    if (gone(host)) members.unlisted.push_back(host.name);
  }
  for (const Host& host : listed) {
    const bool known = has(members.hosts, host.name) || has(members.spares, host.name) ||
                       has(members.away, host.name);
    if (known) continue;
    members.away.push_back(host);
    members.past[host.name].since = now;
  }
}

std::vector<Host> hosts_to_ask(const Membership& members, JobTime now) {
  std::vector<Host> asked;
  if (room(members) == 0) return asked;
  for (const Host& host : members.away) {
    if (welcome_from(members, host.name) <= now) asked.push_back(host);
  }
  return asked;
}

void note_answers(Membership& members, const std::vector<Host>& asked,
                  const std::vector<bool>& there) {
  members.answering.clear();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (there[i]) members.answering.push_back(asked[i].name);
  }
}

std::optional<HostsChange> change_of_hosts(const Membership& members, JobTime now) {
  HostsChange change;
  // Ranks may lose their work since the last checkpoint, so a new epoch is left alone for a while.
  const JobTime settled =
      members.began + doubled(JobTime(kSettled), members.growths + 1, JobTime(kLongestSettled));
  // If hosts leave, the ranks stop anyway, so joining then costs nothing more.
  if (now >= settled || !members.unlisted.empty()) change.joining = willing(members, now);
  change.leaving = members.unlisted;
  const std::size_t all = members.hosts.size() + change.joining.size() + members.spares.size();
  const std::size_t least = members.of_ranks ? 1 : static_cast<std::size_t>(members.range.least);
  // The rest stay, which is better than too few hosts; a scheduler's nodes will end anyway.
  const std::size_t may_leave = members.of_nodes ? all : all > least ? all - least : 0;
  if (change.leaving.size() > may_leave) change.leaving.resize(may_leave);
  // No host may leave, so there is no reason to let others join early.
  if (change.leaving.empty() && now < settled) change.joining.clear();
  if (change.joining.empty() && change.leaving.empty()) return std::nullopt;
  return change;
}

void lose_hosts(Membership& members, const std::vector<Host>& before,
                const std::vector<std::string>& lost, JobTime now) {
  for (const Host& host : before) {
    if (!has(lost, host.name)) continue;
    remove_host(members, host.name);
    HostPast& past = members.past[host.name];
    // A host that ran for long enough has a clean record again.
    if (now - past.since > kLongestTakeBack) past.losses = 0;
    ++past.losses;
    past.since = now;
    // A host that had to leave does not come back if it is lost before.
    const bool is_leaving = has(members.unlisted, host.name);
    if (!is_leaving && !has(members.away, host.name)) members.away.push_back(host);
    std::erase(members.unlisted, host.name);
    std::erase(members.answering, host.name);
  }
  fill_up(members);
}

void note_departure(Membership& members, const std::string& name, JobTime goes) {
  members.past[name].goes = goes;
}

bool is_departing(const Membership& members, const std::string& name, JobTime now) {
  const auto past = members.past.find(name);
  return past != members.past.end() && now < past->second.goes;
}

void apply_change(Membership& members, const HostsChange& change, JobTime now) {
  for (const std::string& name : change.leaving) {
    remove_host(members, name);
    std::erase(members.unlisted, name);
  }
  take_back(members, change.joining, now);
  if (!change.joining.empty()) count_growth(members, now);
  members.answering.clear();
  fill_up(members);
}

void take_back(Membership& members, const std::vector<std::string>& names, JobTime now) {
  for (const std::string& name : names) {
    const auto at = std::find_if(members.away.begin(), members.away.end(), named(name));
    if (at == members.away.end()) continue;
    members.hosts.push_back(*at);
    members.away.erase(at);
    members.past[name].since = now;
  }
}

HostsChange regroup(Membership& members, const std::vector<Host>& before,
                    const std::vector<std::string>& lost, std::optional<HostsChange> ended_for,
                    const AreClean& are_clean, JobTime now, const RegroupSteps& steps) {
  // First: a spare host that replaces a lost one leaves less room for those that join.
  steps.lose(members, before, lost, now);
  HostsChange change =
      ended_for ? *std::move(ended_for) : steps.change(members, now).value_or(HostsChange{});
  // A host that just answered may be gone, or still run what it ran when it was lost.
  std::vector<Host> joining;
  for (const Host& host : members.away) {
    if (has(change.joining, host.name)) joining.push_back(host);
  }
  change.joining.clear();
  if (!joining.empty()) {
    const std::vector<bool> clean = are_clean(joining);
    std::vector<std::string> unclean;
    for (std::size_t i = 0; i < joining.size(); ++i) {
      (clean[i] ? change.joining : unclean).push_back(joining[i].name);
    }
    // Counted as a loss, so they are asked later each time.
    steps.lose(members, joining, unclean, now);
    if (change.joining.empty()) count_growth(members, now);  // the ranks were stopped in vain
  }
  steps.apply(members, change, now);
  return change;
}

std::string too_few_hosts(const Membership& members) {
  const std::size_t left = members.hosts.size();
  if (left == 0) return "no host is left";
  if (members.of_ranks || left >= static_cast<std::size_t>(members.range.least)) return {};
  if (members.of_nodes) {
    return fmt::format("{} {} left, and the job needs {}",
                       plural(static_cast<std::int64_t>(left), "node"), left == 1 ? "is" : "are",
                       members.range.least);
  }
  return fmt::format("{} {} left, and {} needs {}", plural(static_cast<std::int64_t>(left), "host"),
                     left == 1 ? "is" : "are", range_text(members), members.range.least);
}

bool is_change_of_hosts(const Outcome& outcome) {
  // An unreachable host may come later; a misconfigured one needs the user.
  const bool away = outcome.exit_status == static_cast<int>(Exit::kUnreachable) ||
                    outcome.exit_status == static_cast<int>(Exit::kTryAgain);
  return outcome.cause == Cause::kHostsChanged ||
         (outcome.cause == Cause::kCannotStart && outcome.node >= 0 && away);
}

std::string range_text(const Membership& members) {
  return fmt::format("{} {}:{}", members.of_ranks ? "-np" : "--nnodes", members.range.least,
                     members.range.most);
}

}  // namespace dtl
