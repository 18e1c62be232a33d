// Deadlines of states are set here, on entry, from the limits of the other side. kAnswerMargin is
// for the transit.
#include "launcher/job/machine.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "launcher/job/mpi.h"
#include "launcher/job/preflight.h"
#include "launcher/job/rank_events.h"
#include "launcher/job/searches.h"
#include "launcher/job/telling.h"

namespace dtl::job {
namespace {

struct Row {
  JobState from;
  Move move;
  JobState to;
};

// The whole machine. Combinations that are not listed do nothing: kStopping has no kAbandon, so a
// second reason to end changes nothing.
constexpr Row kTable[] = {
    {JobState::kStarting, Move::kAllUp, JobState::kPreflight},
    {JobState::kStarting, Move::kAbandon, JobState::kFinishing},
    {JobState::kWaiting, Move::kPlaced, JobState::kPreflight},
    {JobState::kWaiting, Move::kPlanned, JobState::kClaiming},
    {JobState::kWaiting, Move::kAbandon, JobState::kFinishing},
    {JobState::kPreflight, Move::kMustWait, JobState::kWaiting},
    {JobState::kPreflight, Move::kProbed, JobState::kPlanning},
    {JobState::kPreflight, Move::kAbandon, JobState::kFinishing},
    {JobState::kPlanning, Move::kPlanned, JobState::kClaiming},
    {JobState::kPlanning, Move::kMustWait, JobState::kWaiting},
    {JobState::kPlanning, Move::kAbandon, JobState::kFinishing},
    {JobState::kClaiming, Move::kTaken, JobState::kPlanning},
    {JobState::kClaiming, Move::kMustWait, JobState::kWaiting},
    {JobState::kClaiming, Move::kClaimed, JobState::kRunning},
    {JobState::kClaiming, Move::kAbandon, JobState::kFinishing},
    {JobState::kRunning, Move::kRanksGone, JobState::kFinishing},
    {JobState::kRunning, Move::kAbandon, JobState::kStopping},
    {JobState::kStopping, Move::kRanksGone, JobState::kFinishing},
    {JobState::kStopping, Move::kDeadline, JobState::kFinishing},
    {JobState::kFinishing, Move::kAgentsGone, JobState::kDone},
    {JobState::kFinishing, Move::kDeadline, JobState::kDone},
};

// Causes that may lead to a rank's failure. Once one is known, a suspect is not needed.
bool explains_failures(Cause cause) {
  constexpr Cause kCauses[] = {Cause::kSpawn,       Cause::kRankExit,    Cause::kRankSignal,
                               Cause::kNodeLost,    Cause::kAgentFailed, Cause::kUpEnded,
                               Cause::kStoppedSelf, Cause::kMpiAbort,    Cause::kMpiLeft,
                               Cause::kMpiBroken,   Cause::kMpiAlone};
  return std::find(std::begin(kCauses), std::end(kCauses), cause) != std::end(kCauses);
}

void enter_stopping(Turn& turn) {
  tell_what_was_left(turn);
  turn.job.stop_began = turn.now;
  Stop stop;
  const bool hangs = turn.job.hang.has_value();
  // Ranks can only be asked before they are told to end.
  const bool ask = hangs || (turn.job.outcome && turn.job.outcome->cause == Cause::kTimeout);
  if (ask) stop.ask_ms = static_cast<std::uint32_t>(JobTime(kAskRanks).count());
  const JobTime asked = turn.now + JobTime(stop.ask_ms) + JobTime(hangs ? kAskNative : 0s);
  turn.job.patience = asked + kHeartbeat;
  // As long as an agent may take to ask, end and kill its ranks, and to report that.
  turn.job.deadline = asked + stop_grace(turn) + kReapDeadline + kAnswerMargin;
  // A host that is found after its ranks' time is useless to this job.
  hurry_searches(turn, asked + stop_grace(turn) + kAnswerMargin);
  if (hangs) {
    // A debugger needs seconds for a stack, so it is used only if the job hangs.
    turn.send_to_all(WatchRanks{0, static_cast<std::uint32_t>(JobTime(kAskNative).count())});
  }
  stop.signal = SIGTERM;
  stop.grace_ms = static_cast<std::uint32_t>(stop_grace(turn).count());
  turn.send_to_all(stop);
  check_ranks(turn);
}

void enter_finishing(Turn& turn) {
  tell_what_was_left(turn);
  // All ranks have ended before a better cause came.
  if (!turn.job.outcome) turn.job.outcome = turn.job.suspect.value_or(outcome_at_end(turn.job));
  turn.job.deadline = turn.now + kReapDeadline + kAnswerMargin;
  hurry_searches(turn, turn.now + kReapDeadline);
  for (int node = 0; node < turn.node_count(); ++node) {
    NodeState& state = turn.node(node);
    // An agent that is still coming up has nothing to end.
    if (state.phase == NodePhase::kStarting) turn.close(node);
    if (state.phase != NodePhase::kReady) continue;
    turn.send(node, Finish{});
    state.phase = NodePhase::kEnding;
  }
  check_agents(turn);
}

void enter(Turn& turn, JobState from, JobState state) {
  switch (state) {
    case JobState::kStarting:
      break;
    case JobState::kWaiting:
      get_in_line(turn);
      break;
    case JobState::kPreflight:
      turn.job.deadline = turn.now + kConnectDeadline + kAnswerMargin;
      // A job that has waited has its places.
      if (from == JobState::kStarting) turn.effects.push_back(PlaceRanks{});
      break;
    case JobState::kPlanning:
      turn.effects.push_back(MakePlan{});
      break;
    case JobState::kClaiming:
      turn.job.deadline = turn.now + kConnectDeadline + kAnswerMargin;
      turn.job.claiming.answered.clear();
      turn.job.claiming.taken = false;
      turn.effects.push_back(ClaimNodes{});
      break;
    case JobState::kRunning:
      turn.effects.push_back(StartRanks{});
      begin_watch(turn);
      break;
    case JobState::kStopping:
      enter_stopping(turn);
      break;
    case JobState::kFinishing:
      enter_finishing(turn);
      break;
    case JobState::kDone:
      break;
  }
}

}  // namespace

// The only place where the state changes.
void transition(Turn& turn, Move move) {
  for (const Row& row : kTable) {
    if (row.from != turn.job.state || row.move != move) continue;
    turn.job.state = row.to;
    turn.job.deadline.reset();
    if (row.from == JobState::kWaiting) leave_line(turn);
    enter(turn, row.from, row.to);
    return;
  }
}

// A failure that has already happened precedes a stop by the user, the clock or a scheduler.
void abandon(Turn& turn, Outcome outcome) {
  if (turn.job.suspect && !explains_failures(outcome.cause)) outcome = *turn.job.suspect;
  if (!turn.job.outcome) turn.job.outcome = std::move(outcome);
  transition(turn, Move::kAbandon);
}

JobTime stop_grace(Turn& turn) {
  const bool by_user = turn.job.outcome && turn.job.outcome->cause == Cause::kInterrupted;
  const JobTime grace =
      turn.job.options.ending.grace.value_or(by_user ? kInterruptGrace : kKillGrace);
  if (!turn.job.goes) return grace;
  // The agent of that host needs time to report after the ranks have ended.
  const JobTime left = std::max(*turn.job.goes - turn.job.stop_began, JobTime{0});
  // When little time is left, half of it is for the ranks.
  return std::min(grace, std::max(left - JobTime(kAnswerMargin), left / 2));
}

// For a host that goes before the grace of the ranks is over.
void hurry_stop(Turn& turn) {
  if (turn.job.state != JobState::kStopping || !turn.job.goes || turn.job.kill_sent) return;
  Stop stop;
  stop.signal = 0;  // a second SIGTERM would kill a rank that writes a checkpoint
  const JobTime left = std::max(turn.job.stop_began + stop_grace(turn) - turn.now, JobTime{0});
  stop.grace_ms = static_cast<std::uint32_t>(left.count());
  turn.send_to_all(stop);
}

void check_ranks(Turn& turn) {
  const auto& ranks = turn.job.ranks;
  if (all_done(turn.job.progress.ended, ranks.size(),
               [&](std::size_t rank) { return gone(ranks[rank]); }))
    transition(turn, Move::kRanksGone);
}

void check_agents(Turn& turn) {
  const auto& nodes = turn.job.nodes;
  const auto away = [&](std::size_t node) {
    return nodes[node].phase == NodePhase::kFinished || nodes[node].phase == NodePhase::kGone;
  };
  if (all_done(turn.job.progress.away, nodes.size(), away)) transition(turn, Move::kAgentsGone);
}

}  // namespace dtl::job
