// What the job makes of what ranks do while they run: who is named, and when it ends for that.
#include <algorithm>

#include "launcher/job/job_stepper.h"

namespace dtl::job {

// As often as the shortest wait that counts can be told from a shorter one.
void Stepper::begin_watch() {
  const auto& [notice, timeout] =
      std::pair(job_.options.ending.hang_notice, job_.options.ending.hang_timeout);
  if (!notice && !timeout) return;
  const JobTime shortest =
      std::min(notice.value_or(JobTime::max()), timeout.value_or(JobTime::max()));
  const JobTime period = std::clamp(shortest / 8, JobTime(kLookAtRanks), JobTime(kLongestReport));
  send_to_all(WatchRanks{static_cast<std::uint32_t>(period.count()), 0});
  if (notice) job_.slow_links.begin(std::min(*notice, JobTime(kSlowWindow)), now_);
}

// -1: of no host of the job.
int Stepper::node_at(const std::string& address) const {
  for (const int node : job_.used) {
    const auto& listening = job_.nodes[static_cast<std::size_t>(node)].listening;
    if (!listening) continue;
    const auto& own = listening->addresses;
    if (std::find(own.begin(), own.end(), address) != own.end()) return node;
  }
  return -1;
}

void Stepper::hear_states(int node, const RankStates& message) {
  for (const RankReport& report : message.ranks) {
    const RankState* rank = rank_of(node, report.rank);
    if (rank == nullptr) return;
    if (rank->phase != RankPhase::kStarted) continue;
    job_.watch.report(report, now_);
    job_.slow_hosts.report(report, node);
    for (const WireState& wire : report.wires) {
      if (const int to = node_at(wire.peer); to >= 0) job_.slow_links.report(node, to, wire);
    }
  }
}

void Stepper::look_at_ranks() {
  if (job_.state != JobState::kRunning) return;
  job_.watch.look(now_);
  if (job_.options.ending.hang_notice) {
    for (const HangFinding& finding : job_.watch.untold(*job_.options.ending.hang_notice)) {
      const bool one = finding.odd.size() == 1;
      notice(one ? job_.ranks[static_cast<std::size_t>(finding.odd.front())].node : -1,
             finding.text);
    }
    if (const auto slow = job_.slow_hosts.look()) notice(slow->node, slow->text);
    if (const auto slow = job_.slow_links.look(now_)) notice(slow->node, slow->text);
  }
  if (!job_.options.ending.hang_timeout) return;
  const auto running = std::count_if(job_.ranks.begin(), job_.ranks.end(),
                                     [](const RankState& rank) { return !gone(rank); });
  auto finding =
      job_.watch.hang(*job_.options.ending.hang_timeout, static_cast<std::size_t>(running));
  if (!finding) return;
  Outcome outcome;
  outcome.cause = Cause::kHang;
  outcome.exit_status = static_cast<int>(Exit::kTimeout);
  outcome.text = finding->text;
  job_.hang = std::move(finding);
  abandon(std::move(outcome));
}

}  // namespace dtl::job
