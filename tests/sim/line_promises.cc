#include "tests/sim/line_promises.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtl::sim {
namespace {

// What a launcher knows is younger than that, and so is what it does about it.
constexpr LineTime kSettled{8000};
// From the moment when a job could start until it runs. It may lose some races for cores before.
constexpr LineTime kPatience{15000};

const LineTicket* ticket_of(const LineNode& node, std::size_t job) {
  for (const LineTicket& ticket : node.tickets) {
    if (ticket.job == job) return &ticket;
  }
  return nullptr;
}

}  // namespace

LinePromises::LinePromises(const std::vector<LineNode>& nodes, const std::vector<LineJob>& jobs,
                           const LineTime& now,
                           std::function<void(LineTime, std::function<void()>)> after)
    : nodes_(nodes), jobs_(jobs), now_(now), after_(std::move(after)), watches_(jobs.size()) {}

void LinePromises::complain(std::size_t job, const std::string& what) {
  complaints_ += fmt::format("{} ms: job {}: {}\n", now_.count(), job, what);
}

void LinePromises::ticket_taken(std::size_t job, std::size_t node, bool is_first_host) {
  if (jobs_[job].hostile) return;
  const Ticket& own = ticket_of(nodes_[node], job)->says;
  const bool comes = is_first_host && !jobs_[job].arrival_ms;
  for (const LineTicket& other : nodes_[node].tickets) {
    const LineJob& its = jobs_[other.job];
    if (other.job == job || its.hostile || !is_in_line(its)) continue;
    check_order(job, other.job, node);
    if (comes && its.hosts[0] == node && own.arrival_ms < other.says.arrival_ms) {
      complain(job,
               fmt::format("goes before job {}, which came earlier to the same host", other.job));
    }
  }
}

void LinePromises::check_order(std::size_t job, std::size_t other, std::size_t node) {
  const auto is_before = [&](const LineNode& where) {
    return goes_before(ticket_of(where, job)->says, ticket_of(where, other)->says);
  };
  for (const LineNode& where : nodes_) {
    if (ticket_of(where, job) == nullptr || ticket_of(where, other) == nullptr) continue;
    if (is_before(where) == is_before(nodes_[node])) continue;
    complain(job, fmt::format("is before job {} on one host and behind it on another", other));
    return;
  }
}

void LinePromises::claimed(const LineClaim& claim, std::size_t node) {
  for (const LineClaim& other : nodes_[node].claims) {
    if (other.number != claim.number && !(other.cpus & claim.cpus).empty()) {
      complain(claim.job, fmt::format("has CPUs of job {} on node {}", other.job, node));
    }
  }
}

void LinePromises::released(const LineClaim& claim) {
  ends_[claim.number] = now_;
}

void LinePromises::lost_race(std::size_t job) {
  after_(kSettled, [this, job, then = now_] {
    for (const LineNode& node : nodes_) {
      for (const LineClaim& claim : node.claims) {
        if (claim.job == job && claim.since < then) complain(job, "has cores while it waits");
      }
    }
  });
}

void LinePromises::changed(std::size_t node) {
  for (const LineTicket& ticket : nodes_[node].tickets) {
    if (is_in_line(jobs_[ticket.job]) && !jobs_[ticket.job].hostile) watch(ticket.job);
  }
}

void LinePromises::watch(std::size_t job) {
  Watch& watched = watches_[job];
  const bool first = is_first(job), fits = fits_beside(job);
  if (first != watched.first) {
    ++watched.first_token;
    watched.snapshots.clear();
  }
  watched.first = first;
  if (first) plan_snapshot(job);
  if (fits != watched.fits) ++watched.fits_token;
  if (fits && !watched.fits) {
    after_(kPatience, [this, job, token = watched.fits_token] {
      if (watches_[job].fits && watches_[job].fits_token == token) {
        complain(job, "waits though its cores are free and kept for nobody");
      }
    });
  }
  watched.fits = fits;
}

void LinePromises::left_line(std::size_t job) {
  Watch& watched = watches_[job];
  for (const Snapshot& snapshot : watched.snapshots) {
    const LineTime latest = deadline(job, snapshot);
    if (latest == kNever || now_ <= latest + kPatience) continue;
    complain(job,
             fmt::format("was the first and could start at {} ms at the latest", latest.count()));
    break;
  }
  watched.first = watched.fits = false;
  ++watched.first_token;
  ++watched.fits_token;
  watched.snapshots.clear();
}

bool LinePromises::has_all_tickets(std::size_t job) const {
  return is_in_line(jobs_[job]) &&
         std::all_of(jobs_[job].hosts.begin(), jobs_[job].hosts.end(),
                     [&](std::size_t node) { return ticket_of(nodes_[node], job) != nullptr; });
}

bool LinePromises::is_first(std::size_t job) const {
  if (!has_all_tickets(job)) return false;
  for (const std::size_t node : jobs_[job].hosts) {
    const Ticket& own = ticket_of(nodes_[node], job)->says;
    for (const LineTicket& other : nodes_[node].tickets) {
      if (is_in_line(jobs_[other.job]) && goes_before(other.says, own)) return false;
    }
  }
  return true;
}

// Whether there is enough for all tickets until its own.
bool LinePromises::fits_on(std::size_t job, std::size_t node) const {
  const LineJob& own = jobs_[job];
  const Ticket& ticket = ticket_of(nodes_[node], job)->says;
  CpuSet free = nodes_[node].topology.allowed;
  for (const LineClaim& claim : nodes_[node].claims) {
    if (claim.job != job) free = free - claim.cpus;
  }
  if (!(own.cpus - free).empty()) return false;
  std::int64_t wanted = own.cores;
  for (const LineTicket& other : nodes_[node].tickets) {
    if (!is_in_line(jobs_[other.job]) || !goes_before(other.says, ticket)) continue;
    // Whether particular CPUs collide with those that others may take is another question.
    if (!own.cpus.empty() || !other.says.cpus.empty()) return false;
    wanted += std::max(other.says.cores, 0);
  }
  return wanted <= free.count();
}

bool LinePromises::fits_beside(std::size_t job) const {
  if (!has_all_tickets(job)) return false;
  const auto fits = std::count_if(jobs_[job].hosts.begin(), jobs_[job].hosts.end(),
                                  [&](std::size_t node) { return fits_on(job, node); });
  return static_cast<std::size_t>(fits) >= jobs_[job].need;
}

void LinePromises::plan_snapshot(std::size_t job) {
  constexpr std::size_t kMost = 8;
  Watch& watched = watches_[job];
  if (watched.plans_snapshot || watched.snapshots.size() == kMost) return;
  watched.plans_snapshot = true;
  after_(kSettled, [this, job, token = watched.first_token] {
    watches_[job].plans_snapshot = false;
    if (!watches_[job].first) return;
    // Some may not know yet what has changed.
    bool settled = watches_[job].first_token == token;
    for (const std::size_t host : jobs_[job].hosts) {
      settled &= now_ - nodes_[host].last_release >= kSettled;
    }
    settled ? take_snapshot(job) : plan_snapshot(job);
  });
}

// Of the jobs that run on its hosts now. Whoever starts from now on must not delay it.
void LinePromises::take_snapshot(std::size_t job) {
  Snapshot snapshot;
  for (const std::size_t host : jobs_[job].hosts) {
    const LineNode& node = nodes_[host];
    std::vector<Core>& cores = snapshot.emplace_back();
    const CpuSet& these = jobs_[job].cpus.empty() ? node.topology.allowed : jobs_[job].cpus;
    for (const int cpu : these.to_vector()) {
      Core core{now_};
      for (const LineClaim& claim : node.claims) {
        const LineJob& owner = jobs_[claim.job];
        if (claim.job == job || (claim.cpus & CpuSet({cpu})).empty()) continue;
        if (owner.limit == LineTime{0}) core.claim = claim.number;
        core.free = claim.until;
        if (claim.until == kNever) core.free = claim.since + owner.limit + kLineGrace + kSettled;
      }
      cores.push_back(core);
    }
  }
  ++deadlines_;
  watches_[job].snapshots.push_back(std::move(snapshot));
}

LineTime LinePromises::deadline(std::size_t job, const Snapshot& snapshot) const {
  std::vector<LineTime> hosts;
  for (const std::vector<Core>& cores : snapshot) {
    std::vector<LineTime> times;
    for (const Core& core : cores) {
      if (core.claim == SIZE_MAX) {
        times.push_back(core.free);
      } else {
        const auto end = ends_.find(core.claim);
        times.push_back(end == ends_.end() ? kNever : end->second);
      }
    }
    std::sort(times.begin(), times.end());
    hosts.push_back(times[static_cast<std::size_t>(jobs_[job].cores) - 1]);
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts[jobs_[job].need - 1];
}

void LinePromises::world_ended() {
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (jobs_[job].state != LineState::kDone) complain(job, "waits, and nothing happens any more");
    if (jobs_[job].state == LineState::kDone && jobs_[job].why.empty()) {
      complain(job, "is done, and nobody knows why");
    }
  }
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (const LineClaim& claim : nodes_[node].claims) {
      complain(claim.job, fmt::format("left a claim on node {}", node));
    }
  }
}

}  // namespace dtl::sim
