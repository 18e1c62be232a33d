// Goes through each host's line once. Other jobs keep a job from starting on a host if too few
// cores are free there, apart from those kept for jobs before it.
#include "launcher/jobs/queue_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "launcher/jobs/text_table.h"

namespace dtl {
namespace {

// A job waits for few others. Anybody may make claims and tickets, so there are limits.
constexpr std::size_t kMostHeld = 256;    // that count on one host
constexpr std::size_t kMostHolders = 64;  // that are shown of one job
constexpr std::size_t kMostNames = 4;     // of hosts, before they are folded
constexpr const char* kNoJob = "?";

using CpuRange = std::pair<std::int64_t, std::int64_t>;  // both ends included
using Json = nlohmann::ordered_json;

// Of "0-3,8". Skips what is not a range.
std::vector<CpuRange> cpu_ranges(const std::string& list) {
  std::vector<CpuRange> ranges;
  for (const std::string& piece : split(list, ',')) {
    const std::size_t dash = piece.find('-');
    const auto low = parse_integer(piece.substr(0, dash), 0, INT32_MAX);
    const auto high =
        dash == piece.npos ? low : parse_integer(piece.substr(dash + 1), 0, INT32_MAX);
    if (low && high) ranges.emplace_back(*low, *high);
  }
  return ranges;
}

bool have_common_cpus(const std::vector<CpuRange>& some, const std::vector<CpuRange>& others) {
  return std::any_of(some.begin(), some.end(), [&](const CpuRange& one) {
    return std::any_of(others.begin(), others.end(), [&](const CpuRange& other) {
      return one.first <= other.second && other.first <= one.second;
    });
  });
}

// What holds cores of a host, with its CPUs.
struct HeldCores {
  CoreHolder holder;
  std::vector<CpuRange> cpus;
};

// One host's line, from its first ticket on.
class HostLine {
 public:
  explicit HostLine(const NodeCores& node) : unkept_(node.free_cores) {
    for (const ClaimedCores& claim : node.claims) {
      started_.emplace(claim.job, claim.user);
      // A job that shares its cores keeps nobody from starting.
      if (claim.shared || held_.size() == kMostHeld) continue;
      held_.push_back({{claim.job, claim.user, claim.left_s, false}, cpu_ranges(claim.cpus)});
    }
  }

  // Its job holds cores here already, and has not given up the ticket yet.
  bool has_started(const WaitingTicket& ticket) const {
    return ticket.job != kNoJob && started_.contains({ticket.job, ticket.user});
  }

  // Who keeps the ticket's job from starting here. Then the line goes on behind it.
  std::vector<CoreHolder> pass(const WaitingTicket& ticket) {
    std::vector<CoreHolder> holders;
    const std::vector<CpuRange> wanted = cpu_ranges(ticket.cpus);
    if (!wanted.empty() || unkept_ < ticket.cores) {
      for (const HeldCores& held : held_) {
        if (wanted.empty() || have_common_cpus(wanted, held.cpus)) holders.push_back(held.holder);
      }
      // Those before it, whose cores are not known in detail.
      if (unkept_ < ticket.cores) holders.insert(holders.end(), before_.begin(), before_.end());
    }
    unkept_ -= ticket.kept;
    if (ticket.kept > 0 && before_.size() < kMostHeld) {
      before_.push_back({ticket.job, ticket.user, 0, true});
    }
    return holders;
  }

  std::size_t next_position() { return ++passed_; }

 private:
  std::int64_t unkept_;  // free cores that are not kept for the tickets so far
  std::size_t passed_ = 0;
  std::set<std::pair<std::string, std::string>> started_;
  std::vector<HeldCores> held_;
  std::vector<CoreHolder> before_;
};

void add_holder(WaitingJob& job, const CoreHolder& holder) {
  for (CoreHolder& known : job.waits_for) {
    if (known.job != holder.job || known.user != holder.user || known.waits != holder.waits)
      continue;
    // One without a limit has none on other hosts either.
    if (known.left_s != 0)
      known.left_s = holder.left_s == 0 ? 0 : std::max(known.left_s, holder.left_s);
    return;
  }
  if (job.waits_for.size() < kMostHolders) {
    job.waits_for.push_back(holder);
  } else {
    job.more = true;
  }
}

void add_ticket(WaitingJob& job, const std::string& host, const WaitingTicket& ticket) {
  job.job = ticket.job;
  job.arrival_ms = ticket.arrival_ms;
  job.age_s = std::max(job.age_s, ticket.age_s);
  job.runs_s = std::max(job.runs_s, ticket.runs_s);
  if (std::find(job.users.begin(), job.users.end(), ticket.user) == job.users.end()) {
    job.users.push_back(ticket.user);
  }
  job.wants.push_back({host, ticket.cores, ticket.cpus, ticket.kept});
}

bool is_before(const WaitingTicket& a, const WaitingTicket& b) {
  return std::tie(a.arrival_ms, a.job) < std::tie(b.arrival_ms, b.job);
}

std::string host_names(const std::vector<std::string>& hosts) {
  return hosts.size() <= kMostNames ? join(hosts, ",") : fold_hosts(hosts);
}

// "4 cores on node1,node2; CPUs 0-3 on node3"
std::string wants_text(const std::vector<WantedCores>& wants) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const WantedCores& each : wants) {
    const std::string what = each.cpus.empty() ? plural(each.cores, "core") : "CPUs " + each.cpus;
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == what; });
    if (known != groups.end()) {
      known->second.push_back(each.host);
    } else {
      groups.push_back({what, {each.host}});
    }
  }
  std::vector<std::string> parts;
  for (const auto& [what, hosts] : groups) parts.push_back(what + " on " + host_names(hosts));
  return join(parts, "; ");
}

// "1a2b of bob, 2h left; 3c4d of carol"
std::string waits_for_text(const WaitingJob& job, std::optional<int> columns) {
  std::vector<std::string> parts;
  for (const CoreHolder& holder : job.waits_for) {
    std::string part = shown_job(holder.job, columns) + " of " + holder.user;
    if (holder.left_s > 0) part += ", " + age_text(holder.left_s) + " left";
    if (holder.waits) part += ", waits";
    parts.push_back(std::move(part));
  }
  if (job.more) parts.emplace_back("and more");
  return parts.empty() ? "-" : join(parts, "; ");
}

Json limit_of(std::int64_t seconds) {
  return seconds == 0 ? Json(nullptr) : Json(seconds);
}

Json json_of(const WaitingJob& job) {
  Json wants = Json::array(), waits_for = Json::array();
  for (const WantedCores& each : job.wants) {
    wants.push_back({{"host", each.host},
                     {"cores", each.cores},
                     {"cpus", each.cpus.empty() ? Json(nullptr) : Json(each.cpus)},
                     {"kept", each.kept}});
  }
  for (const CoreHolder& holder : job.waits_for) {
    waits_for.push_back({{"job", holder.job},
                         {"user", holder.user},
                         {"left_s", limit_of(holder.left_s)},
                         {"waits", holder.waits}});
  }
  return {{"position", job.position},     {"job", job.job},
          {"users", job.users},           {"waiting_s", job.age_s},
          {"arrival_ms", job.arrival_ms}, {"runs_s", limit_of(job.runs_s)},
          {"wants", std::move(wants)},    {"waits_for", std::move(waits_for)}};
}

}  // namespace

std::vector<WaitingJob> fold_line(const std::vector<HostCores>& hosts) {
  // A ticket that names no job belongs to no other ticket.
  using Key = std::tuple<std::int64_t, std::string, std::size_t>;
  std::map<Key, WaitingJob> jobs;
  std::size_t nameless = 0;
  for (const HostCores& host : hosts) {
    HostLine line(host.cores);
    std::vector<const WaitingTicket*> tickets;
    for (const WaitingTicket& ticket : host.cores.waiting) {
      if (!line.has_started(ticket)) tickets.push_back(&ticket);
    }
    std::stable_sort(tickets.begin(), tickets.end(),
                     [](const auto* a, const auto* b) { return is_before(*a, *b); });
    for (const WaitingTicket* ticket : tickets) {
      const std::size_t number = ticket->job == kNoJob ? ++nameless : 0;
      WaitingJob& job = jobs[{ticket->arrival_ms, ticket->job, number}];
      add_ticket(job, host.host, *ticket);
      job.position = std::max(job.position, line.next_position());
      for (const CoreHolder& holder : line.pass(*ticket)) add_holder(job, holder);
    }
  }
  std::vector<WaitingJob> in_order;
  in_order.reserve(jobs.size());
  for (auto& [key, job] : jobs) in_order.push_back(std::move(job));
  return in_order;
}

std::string queue_table(const std::vector<WaitingJob>& jobs, std::optional<int> columns) {
  std::vector<TableRow> rows = {{"POSITION", "JOB", "USER", "WAITING", "WANTS/HOST", "FOR"}};
  for (const WaitingJob& job : jobs) {
    rows.push_back({std::to_string(job.position), shown_job(job.job, columns), join(job.users, ","),
                    age_text(job.age_s), wants_text(job.wants), waits_for_text(job, columns)});
  }
  return text_table(rows, {8, 4, 12, 7, 24, 0}, columns);
}

std::string empty_line_text(const std::vector<HostCores>& hosts) {
  std::vector<std::string> names;
  for (const HostCores& host : hosts) names.push_back(host.host);
  return fmt::format("no job waits for cores of {}\n", host_names(names));
}

std::string queue_json(const std::vector<HostCores>& hosts, const std::vector<WaitingJob>& jobs,
                       const std::vector<Unreachable>& unreachable) {
  Json all = {{"hosts", Json::array()}, {"jobs", Json::array()}};
  for (const HostCores& host : hosts) {
    std::int64_t kept = 0;
    for (const WaitingTicket& ticket : host.cores.waiting) kept += ticket.kept;
    all["hosts"].push_back({{"host", host.host},
                            {"cores", host.cores.cores},
                            {"free_cores", host.cores.free_cores},
                            {"kept_cores", kept}});
  }
  for (const WaitingJob& job : jobs) all["jobs"].push_back(json_of(job));
  return json_answer("queue", all.dump(-1, ' ', false, Json::error_handler_t::replace),
                     unreachable);
}

}  // namespace dtl
