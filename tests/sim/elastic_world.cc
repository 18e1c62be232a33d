#include "tests/sim/elastic_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/limits.h"

namespace dtl::sim {
namespace {

constexpr auto kHealing = 2 * JobTime(kLongestTakeBack) + 2 * JobTime(kLongestSettled);

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

bool has(const std::vector<Host>& hosts, const std::string& name) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const Host& host) { return host.name == name; });
}

}  // namespace

ElasticWorld::ElasticWorld(std::uint64_t seed, ElasticRules rules)
    : random_(seed), rules_(std::move(rules)) {
  const int count = draw(1, 6);
  members_.range.least = draw(1, count);
  members_.range.most = draw(members_.range.least, count + 1);
  members_.of_ranks = chance(300);
  discovers_ = chance(500);
  constexpr int kFaults[] = {2, 20, 100};
  faults_ = kFaults[draw(0, 2)];
  const int unlisted = discovers_ ? 2 : 0;
  for (int i = 0; i < count + unlisted; ++i) {
    Host host;
    host.name = fmt::format("h{}", i);
    truth_[host.name].listed = i < count;
    if (i >= count) continue;
    const bool is_spare = !members_.of_ranks && i >= members_.range.most;
    (is_spare ? members_.spares : members_.hosts).push_back(host);
  }
  story_ = fmt::format("{} hosts, {}{}\n", count, range_text(members_),
                       discovers_ ? ", --discover" : "");
}

void ElasticWorld::run() {
  begin_epoch();
  constexpr int kLooks[] = {30, 80, 200};
  const int looks = kLooks[draw(0, 2)];
  for (int i = 0; i < looks && complaints_.empty() && !ended_; ++i) {
    happen();
    look();
  }
  healed_ = true;
  const bool enough = static_cast<int>(listed().size()) >= members_.range.least;
  for (auto& [name, truth] : truth_) {
    truth.up = true;
    truth.listed |= !enough;
  }
  story_ += fmt::format("{} ms: all are there\n", now_.count());
  const JobTime end = now_ + kHealing;
  while (now_ < end && complaints_.empty() && !ended_ && !is_whole()) look();
  // By now every host has been up long enough to be asked.
  if (!ended_) check(is_whole(), "hosts that are there are not used, or others are");
}

void ElasticWorld::check(bool holds, const std::string& promise) {
  if (!holds) complaints_ += fmt::format("{} ms: {}\n", now_.count(), promise);
}

std::vector<Host> ElasticWorld::listed() const {
  std::vector<Host> hosts;
  for (const auto& [name, truth] : truth_) {
    if (!truth.listed) continue;
    hosts.emplace_back();
    hosts.back().name = name;
  }
  return hosts;
}

void ElasticWorld::happen() {
  for (auto& [name, truth] : truth_) {
    truth.up = truth.up ? !chance(faults_) : chance(300);
    if (discovers_ && chance(faults_ / 2)) truth.listed = !truth.listed;
  }
  // A list without hosts is an error, which changes nothing.
  if (listed().empty()) truth_.begin()->second.listed = true;
}

std::vector<std::string> ElasticWorld::lost() const {
  std::vector<std::string> names;
  for (const Host& host : members_.hosts) {
    if (!truth_.at(host.name).up) names.push_back(host.name);
  }
  return names;
}

void ElasticWorld::look() {
  now_ += JobTime(kLookForHosts);
  const std::vector<std::string> names = lost();
  if (names.empty()) return ask();
  for (const std::string& name : names)
    story_ += fmt::format("{} ms: lost {}\n", now_.count(), name);
  now_ += JobTime(draw(0, static_cast<int>(JobTime(kFence).count())));
  shrank_ = true;
  go_on(names, std::nullopt);
}

void ElasticWorld::ask() {
  if (discovers_) rules_.list(members_, listed(), now_);
  const std::vector<Host> asked = rules_.to_ask(members_, now_);
  check_asked(asked);
  std::vector<bool> there;
  for (const Host& host : asked) there.push_back(truth_.at(host.name).up);
  rules_.note(members_, asked, there);
  const std::optional<HostsChange> change = rules_.change(members_, now_);
  if (change) {
    check_change(*change);
    if (change->leaving.empty()) growths_.push_back(now_);
    grew_ |= !change->joining.empty();
    go_on({}, *change);
    return;
  }
  int staying = static_cast<int>(members_.spares.size());
  for (const Host& host : members_.hosts) staying += truth_.at(host.name).listed ? 1 : 0;
  const bool all_listed =
      staying == static_cast<int>(members_.hosts.size() + members_.spares.size());
  check(all_listed || staying < least(), "ranks stay on a host that is no longer listed");
}

// `change`: why the epoch was ended; without one, it has lost hosts.
void ElasticWorld::go_on(const std::vector<std::string>& lost, std::optional<HostsChange> change) {
  const RegroupSteps steps = {
      rules_.change,
      [this](auto&, const auto& before, const auto& names, JobTime) { lose(before, names); },
      rules_.apply};
  const auto are_clean = [this](const std::vector<Host>& joining) {
    std::vector<bool> clean;
    for (const Host& host : joining) {
      Truth& truth = truth_.at(host.name);
      if (!healed_ && chance(faults_)) truth.up = false;  // a moment after its answer
      clean.push_back(truth.up);
    }
    return clean;
  };
  const HostsChange made =
      regroup(members_, members_.hosts, lost, std::move(change), are_clean, now_, steps);
  for (const std::string& name : made.joining) truth_.at(name).since = now_;
  for (const std::string& name : made.leaving) {
    check(!has(members_.hosts, name), name + " is to leave, and stays");
  }
  ended_ = !rules_.too_few(members_).empty();
  const bool few = static_cast<int>(members_.hosts.size()) < least();
  check(ended_ == few, few ? "goes on with less than MIN" : "ends with enough hosts");
  if (ranks() < members_.range.least) ended_ = true;  // placement refuses
  if (!ended_) begin_epoch();
}

void ElasticWorld::lose(const std::vector<Host>& before, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    Truth& truth = truth_.at(name);
    if (now_ - truth.since > JobTime(kLongestTakeBack)) truth.losses = 0;
    ++truth.losses;
    truth.since = now_;
  }
  rules_.lose(members_, std::vector<Host>(before), names, now_);
}

// If a job counts ranks, only placement knows whether they are enough.
int ElasticWorld::least() const {
  return members_.of_ranks ? 1 : members_.range.least;
}

// One rank per host.
int ElasticWorld::ranks() const {
  return std::min(static_cast<int>(members_.hosts.size()), members_.range.most);
}

void ElasticWorld::begin_epoch() {
  now_ += 2s;
  began_ = now_;
  story_ += fmt::format("{} ms: an epoch on {}\n", now_.count(),
                        fmt::join(names_of(members_.hosts), " "));
  dtl::begin_epoch(members_, ranks(), now_);
  check_hosts();
}

void ElasticWorld::check_hosts() {
  const auto count = static_cast<int>(members_.hosts.size());
  check(members_.of_ranks || count <= members_.range.most, "more hosts than MAX");
  check(count >= members_.range.most || members_.spares.empty(), "a spare host stays unused");
  std::set<std::string> known;
  std::size_t entries = 0;
  for (const auto* hosts : {&members_.hosts, &members_.spares, &members_.away}) {
    for (const std::string& name : names_of(*hosts)) known.insert(name);
    entries += hosts->size();
  }
  check(known.size() == entries, "a host is in two places");
  if (discovers_) return;  // the list decides
  for (const Host& host : listed()) {
    check(known.count(host.name) > 0, host.name + " is forgotten");
  }
}

void ElasticWorld::check_asked(const std::vector<Host>& asked) {
  for (const Host& host : asked) {
    const Truth& truth = truth_.at(host.name);
    check(truth.listed, host.name + " is asked, and not listed");
    JobTime wait = truth.losses > 0 ? JobTime(kTakeBack) : JobTime{0};
    for (int i = 1; i < truth.losses; ++i) wait = std::min(2 * wait, JobTime(kLongestTakeBack));
    check(now_ - truth.since >= wait, host.name + " is asked too soon after its loss");
  }
}

void ElasticWorld::check_change(const HostsChange& change) {
  check(!change.joining.empty() || !change.leaving.empty(), "the ranks are stopped for nothing");
  for (const std::string& name : change.joining) {
    check(truth_.at(name).up, name + " joins, and does not answer");
    check(!has(members_.hosts, name), name + " joins, and has ranks already");
  }
  for (const std::string& name : change.leaving) {
    check(has(members_.hosts, name) && !truth_.at(name).listed, name + " leaves, and is listed");
  }
  const auto others =
      static_cast<int>(members_.hosts.size() + members_.spares.size() + change.joining.size()) -
      static_cast<int>(change.leaving.size());
  check(others >= least(), "leaves less than MIN");
  const bool is_full = members_.of_ranks && ranks() >= members_.range.most;
  check(change.joining.empty() || !is_full || !change.leaving.empty(),
        "hosts join, and there are MAX ranks");
  if (!change.leaving.empty()) return;
  check(now_ - began_ >= JobTime(kSettled), "hosts join as soon as the ranks run");
  const auto recent = std::count_if(growths_.begin(), growths_.end(), [&](JobTime time) {
    return now_ - time < JobTime(kLongestSettled);
  });
  check(recent < 6, "a storm of hosts that join");
}

// Whether all listed hosts, up to the maximum, are in use.
bool ElasticWorld::is_whole() const {
  const auto there = std::min(listed().size(), static_cast<std::size_t>(members_.range.most));
  const auto is_listed = [&](const Host& host) { return truth_.at(host.name).listed; };
  const std::size_t used = members_.hosts.size();
  return (members_.of_ranks ? used >= there : used == there) &&
         std::all_of(members_.hosts.begin(), members_.hosts.end(), is_listed);
}

}  // namespace dtl::sim
