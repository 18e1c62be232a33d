// Ranks that fail because of another one are told apart by their last words and by exit status 68
// (kPeerFailed), which libdtring's callers use for that.
#include "launcher/job/rank_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/job/losses.h"
#include "launcher/job/machine.h"

namespace dtl::job {
namespace {

// A failure may be reported after its consequence: other ranks see a broken connection at once,
// while the failed rank's node reports later. And if all ranks were told to end now, the one that
// failed first might end before it has said why.
void note_failure(Turn& turn, const RankState& rank, const Outcome& failure) {
  if (!rank.consequence && !rank.silent) return abandon(turn, failure);
  const auto& suspect = turn.job.suspect;
  // A silent failure explains more than one that names another rank.
  const bool better = suspect && !rank.consequence &&
                      turn.job.ranks[static_cast<std::size_t>(suspect->rank)].consequence;
  if (suspect && !better) return;
  turn.job.suspect = failure;
  turn.job.blame_until =
      turn.now + (rank.consequence ? JobTime(kBlameWindow) : JobTime(kSilentWindow));
}

void rank_ended(Turn& turn, RankState& rank, RankPhase phase, const Outcome& failure, bool failed) {
  rank.phase = phase;
  rank.ended = turn.now;
  rank.after_stop = turn.ending();
  // An ended rank must not count as one that keeps others waiting; its end is a cause of its own.
  turn.job.watch.forget(failure.rank);
  turn.job.slow_hosts.forget(failure.rank);
  if (failed && turn.job.state == JobState::kRunning) note_failure(turn, rank, failure);
  check_ranks(turn);
}

// -1: of no host of the job.
int node_at(const Turn& turn, const std::string& address) {
  const auto at = turn.job.node_at.find(address);
  return at == turn.job.node_at.end() ? -1 : at->second;
}

}  // namespace

RankState* rank_of(Turn& turn, int node, std::uint32_t rank) {
  if (rank < turn.job.ranks.size() && turn.job.ranks[rank].node == node)
    return &turn.job.ranks[rank];
  garbage(turn, node, fmt::format("news of rank {}, which is not its own", rank));
  return nullptr;
}

void hear_started(Turn& turn, int node, const Started& message) {
  RankState* rank = rank_of(turn, node, message.rank);
  if (rank == nullptr || rank->phase != RankPhase::kWaiting) return;
  rank->phase = RankPhase::kStarted;
  rank->pid = message.pid;
  rank->started = turn.now;
}

void hear_spawn_failed(Turn& turn, int node, const SpawnFailed& message) {
  RankState* rank = rank_of(turn, node, message.rank);
  if (rank == nullptr || gone(*rank)) return;
  Outcome outcome;
  outcome.cause = Cause::kSpawn;
  outcome.rank = static_cast<int>(message.rank);
  outcome.node = node;
  outcome.stage = message.stage;
  outcome.error_number = static_cast<int>(message.error_number);
  outcome.text = message.reason;
  outcome.exit_status = spawn_status(message.stage, outcome.error_number);
  rank->code = outcome.exit_status;
  rank_ended(turn, *rank, RankPhase::kSpawnFailed, outcome, true);
}

void hear_exited(Turn& turn, int node, const Exited& message, LastWords words) {
  RankState* rank = rank_of(turn, node, message.rank);
  if (rank == nullptr || gone(*rank)) return;
  rank->code = static_cast<int>(message.code);
  rank->signal = static_cast<int>(message.signal);
  rank->max_rss_kib = message.max_rss_kib;
  if (message.signal == 0 && message.code != 0) {
    const bool told = message.code == static_cast<std::uint32_t>(Exit::kPeerFailed);
    const bool wordless = words == LastWords::kNone && rank->evidence.error_file.empty();
    rank->consequence = words == LastWords::kOfAnother || (wordless && told);
    // A failure without a message may follow from another one that is not reported yet.
    rank->silent = wordless && !told;
  }
  // What ranks leave behind when we end them is ended too; only others need a line.
  if (message.left_behind > 0 && !turn.ending()) {
    turn.job.leavers.push_back(static_cast<int>(message.rank));
    turn.job.left_processes += message.left_behind;
  }
  Outcome outcome;
  outcome.rank = static_cast<int>(message.rank);
  outcome.node = node;
  outcome.signal = rank->signal;
  outcome.cause = rank->signal != 0 ? Cause::kRankSignal : Cause::kRankExit;
  outcome.exit_status = rank->signal != 0 ? 128 + rank->signal : rank->code;
  const bool failed = outcome.exit_status != 0;
  // Each orderly end restarts the wait: the line is about ranks that outlive the last one.
  if (!failed && turn.job.state == JobState::kRunning) turn.job.early_end = turn.now + kEarlyEnd;
  rank_ended(turn, *rank, RankPhase::kExited, outcome, failed);
}

// Often enough to measure the shortest wait that counts, and not more often, because each report is
// a message from every node. Also if no wait counts: reports say what ranks use, and how far they
// are.
void begin_watch(Turn& turn) {
  const auto& [notice, timeout] =
      std::pair(turn.job.options.ending.hang_notice, turn.job.options.ending.hang_timeout);
  const JobTime shortest =
      std::min(notice.value_or(JobTime::max()), timeout.value_or(JobTime::max()));
  const JobTime period = std::clamp(shortest / 8, JobTime(kLookAtRanks), JobTime(kLongestReport));
  turn.send_to_all(WatchRanks{static_cast<std::uint32_t>(period.count()), 0});
  if (notice) turn.job.slow_links.begin(std::min(*notice, JobTime(kSlowWindow)), turn.now);
}

void hear_states(Turn& turn, int node, const RankStates& message) {
  for (const RankReport& report : message.ranks) {
    const RankState* rank = rank_of(turn, node, report.rank);
    if (rank == nullptr) return;
    // A report may have been on its way when the rank ended.
    if (rank->phase != RankPhase::kStarted) continue;
    turn.job.watch.report(report, turn.now);
    turn.job.slow_hosts.report(report, node);
    for (const WireState& wire : report.wires) {
      // Connections to other machines, such as a file server, are not the job's network.
      if (const int to = node_at(turn, wire.peer); to >= 0)
        turn.job.slow_links.report(node, to, wire);
    }
  }
}

void look_at_ranks(Turn& turn) {
  if (turn.job.state != JobState::kRunning) return;
  turn.job.watch.look(turn.now);
  if (turn.job.options.ending.hang_notice) {
    for (const HangFinding& finding : turn.job.watch.untold(*turn.job.options.ending.hang_notice)) {
      const bool one = finding.odd.size() == 1;
      turn.notice(one ? turn.job.ranks[static_cast<std::size_t>(finding.odd.front())].node : -1,
                  finding.text);
    }
    if (const auto slow = turn.job.slow_hosts.look()) turn.notice(slow->node, slow->text);
    if (const auto slow = turn.job.slow_links.look(turn.now)) turn.notice(slow->node, slow->text);
  }
  if (!turn.job.options.ending.hang_timeout) return;
  const auto running = std::count_if(turn.job.ranks.begin(), turn.job.ranks.end(),
                                     [](const RankState& rank) { return !gone(rank); });
  auto finding =
      turn.job.watch.hang(*turn.job.options.ending.hang_timeout, static_cast<std::size_t>(running));
  if (!finding) return;
  Outcome outcome;
  outcome.cause = Cause::kHang;
  outcome.exit_status = static_cast<int>(Exit::kTimeout);
  outcome.text = finding->text;
  turn.job.hang = std::move(finding);
  abandon(turn, std::move(outcome));
}

}  // namespace dtl::job
