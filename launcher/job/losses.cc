// A node is lost once: lose() does nothing for one that is gone already. Loss before the ranks run
// fails the start; loss while the job ends is only a line for the user.
#include "launcher/job/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/job/machine.h"
#include "launcher/job/searches.h"
#include "launcher/job/silence.h"

namespace dtl::job {
namespace {

// Waits for all agents even after one has failed, so that the user learns of all bad hosts at once.
// The first failed one in the request's order decides the outcome.
void check_started(Turn& turn) {
  if (turn.job.state != JobState::kStarting) return;
  const auto& nodes = turn.job.nodes;
  const auto started = [&](std::size_t node) { return nodes[node].phase != NodePhase::kStarting; };
  if (!all_done(turn.job.progress.started, nodes.size(), started)) return;
  const auto failed = std::find_if(nodes.begin(), nodes.end(), [](const NodeState& node) {
    return node.start_failure.has_value();
  });
  if (failed == nodes.end()) {
    transition(turn, Move::kAllUp);
    return;
  }
  Outcome outcome;
  outcome.cause = Cause::kCannotStart;
  outcome.node = static_cast<int>(failed - nodes.begin());
  outcome.exit_status = static_cast<int>(*failed->start_failure);
  abandon(turn, std::move(outcome));
}

// The loss of an agent or node may be noticed later than a rank's failure: after kDead, or after
// the wait for a guard. The loss then replaces an outcome that looks like its consequence; returns
// true.
bool blame(Turn& turn, const Outcome& loss) {
  if (turn.job.state != JobState::kStopping) return false;
  if (!turn.job.outcome || turn.job.outcome->cause != Cause::kRankExit) return false;
  if (!turn.job.ranks[static_cast<std::size_t>(turn.job.outcome->rank)].consequence) return false;
  turn.job.outcome = loss;
  return true;
}

}  // namespace

void agent_ready(Turn& turn, const AgentReady& event) {
  NodeState& node = turn.node(event.node);
  if (node.phase != NodePhase::kStarting) return;
  node.phase = NodePhase::kReady;
  node.last_heard = turn.now;
  node.up = turn.now;
  node.here = event.here;
  if (event.can_be_found_again) node.link = LinkSearch(turn.job.options.ending.reconnect);
  if (event.branch_delay) {
    node.in_tree = true;
    if (event.branch_delay->count() > 0) node.suspect_after = kBranchSilence;
    node.link = LinkSearch(tree_patience(turn.job.options.ending.reconnect), *event.branch_delay,
                           kQuietSearch);
  }
  // Agents ask the cloud from the beginning: a host may be taken away while the job starts.
  if (turn.job.options.ending.spot != Cloud::kOff)
    turn.send(event.node, WatchNotices{turn.job.options.ending.spot});
  check_started(turn);
}

void agent_failed(Turn& turn, const AgentFailed& event) {
  if (turn.node(event.node).phase == NodePhase::kStarting)
    fail_start(turn, event.node, event.status);
}

void agent_lost(Turn& turn, const AgentLost& event) {
  if (event.may_live && search_for(turn, event.node)) return;
  lose(turn, event.node, event.cause, event.exit_status, event.text);
}

void fail_start(Turn& turn, int node, Exit status) {
  turn.node(node).phase = NodePhase::kGone;
  turn.node(node).start_failure = status;
  check_started(turn);
  check_agents(turn);
}

void lose(Turn& turn, int node, Cause cause, int exit_status, const std::string& text) {
  NodeState& state = turn.node(node);
  if (!reachable(state)) return;
  // Not a failure of the job: this agent was told to end.
  const bool expected = state.phase == NodePhase::kEnding;
  state.phase = NodePhase::kGone;
  state.link.end();
  // The fence before a restart counts from here: until now the agent may have heard heartbeats.
  state.given_up = turn.now;
  state.agent_failed = cause == Cause::kAgentFailed;
  if (turn.job.state == JobState::kStarting) {
    turn.notice(node, text);
    fail_start(turn, node, static_cast<Exit>(exit_status));
    return;
  }
  // The agent ended itself while dtlaunch was absent: the absence is the cause, not the agent.
  const bool had_left =
      state.here && turn.job.long_absence && turn.now < turn.job.absence_ended + kSuspect;
  if (had_left) turn.job.outlived_leases = true;
  for (RankState& rank : turn.job.ranks) {
    if (rank.node != node || gone(rank)) continue;
    rank.phase = RankPhase::kLost;
    rank.ended = turn.now;
    rank.after_stop = turn.ending();
  }
  Outcome outcome;
  outcome.cause = cause;
  outcome.node = node;
  outcome.exit_status = exit_status;
  outcome.text = text;
  if (turn.ending()) {
    // The card explains these already; a line for each node would only repeat it.
    const bool own_fault = turn.job.outlived_leases || cause == Cause::kUpEnded;
    if (!own_fault && !blame(turn, outcome)) {
      turn.notice(node, fmt::format("lost while it was ending the job: {}", text));
    }
  } else if (!expected && had_left) {
    end_as_outlived(turn, *turn.job.long_absence);
  } else if (!expected) {
    abandon(turn, std::move(outcome));
  }
  // The lost ranks may have been the last running ones.
  check_ranks(turn);
  check_agents(turn);
}

void garbage(Turn& turn, int node, const std::string& what) {
  lose(turn, node, Cause::kAgentFailed, static_cast<int>(Exit::kVersion), "it sent " + what);
  turn.close(node);
}

void hear_finished(Turn& turn, int node, const Finished& message) {
  NodeState& state = turn.node(node);
  if (state.phase != NodePhase::kEnding) {
    lose(turn, node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
         "it ended without being told to");
    turn.close(node);
    return;
  }
  if (message.unkillable > 0) {
    turn.notice(node,
                fmt::format("{} process{} could not be killed within {}; look there with: ps -ef",
                            message.unkillable, message.unkillable == 1 ? "" : "es",
                            seconds_text(kReapDeadline)));
  }
  state.phase = NodePhase::kFinished;
  state.finished = turn.now;
  check_agents(turn);
}

}  // namespace dtl::job
