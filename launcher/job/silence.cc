// Clocks of machines are never compared: all times are the launcher's, since the last message that
// it received.
#include "launcher/job/silence.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "launcher/job/losses.h"
#include "launcher/job/machine.h"
#include "launcher/job/searches.h"
#include "launcher/job/telling.h"

namespace dtl::job {
namespace {

// Nodes end the job after kLease without dtlaunch, counted from its last heartbeat, which may be
// kHeartbeat old. Agents that were starting have waited no longer for its first words.
void outlive_leases(Turn& turn, JobTime absent) {
  if (absent > kLease - kHeartbeat) {
    turn.job.long_absence = absent;
    turn.job.absence_ended = turn.now;
  }
  const auto waited_in_vain = [&](const NodeState& node) {
    return absent > kLease - kHeartbeat + node.link.patience() && !node.here &&
           (reachable(node) || node.phase == NodePhase::kStarting);
  };
  if (std::any_of(turn.job.nodes.begin(), turn.job.nodes.end(), waited_in_vain)) {
    turn.job.outlived_leases = true;
  }
}

void tell_suspicion(Turn& turn, int node, JobTime silent) {
  const NodeState& state = turn.node(node);
  const std::string then = state.here ? "it is waited for while its process can run"
                                      : "the job goes on if one comes within " +
                                            seconds_text(kDead + state.link.patience());
  turn.notice(node, fmt::format("no sign of life for {}; {}", seconds_text(silent), then));
}

}  // namespace

void send_heartbeats(Turn& turn) {
  if (turn.now < turn.job.next_heartbeat) return;
  tell_what_was_left(turn);
  Heartbeat heartbeat;
  heartbeat.monotonic_ms = static_cast<std::uint64_t>(turn.now.count());
  turn.send_to_all(heartbeat);
  turn.job.next_heartbeat = turn.now + kHeartbeat;
}

void watch_silence(Turn& turn) {
  // Kept as one time for all nodes: this is called with each tick.
  if (turn.now < turn.job.next_silence) return;
  JobTime next = turn.now + kSuspect;
  for (int node = 0; node < turn.node_count(); ++node) {
    NodeState& state = turn.node(node);
    // Nodes that are ending have the deadline of the state.
    if (state.phase != NodePhase::kReady || state.link.searching()) continue;
    const JobTime silent = turn.now - state.last_heard;
    // With --reconnect silence means a lost connection, not a lost host.
    if (silent >= kDead && search_for(turn, node)) continue;
    // An agent on this machine is a process that can be checked, so nobody has to guess.
    if (silent >= kDead && state.here) {
      turn.effects.push_back(LookAtAgent{node});
      // Checked again each second: it may run, stop or vanish.
      next = std::min(next, turn.now + kHeartbeat);
      continue;
    }
    if (silent >= kDead) {
      lose(turn, node, Cause::kNodeLost, static_cast<int>(Exit::kUnreachable),
           fmt::format("no sign of life for {}", seconds_text(silent)));
      turn.close(node);
      continue;
    }
    if (silent >= state.suspect_after && !state.suspected) {
      state.suspected = true;
      tell_suspicion(turn, node, silent);
    }
    next =
        std::min(next, state.last_heard + (state.suspected ? JobTime(kDead) : state.suspect_after));
  }
  turn.job.next_silence = next;
}

// Agents of a tree report each second of whom they have heard; on a branch there are no heartbeats.
void heard_of(Turn& turn, const Alive& event) {
  for (const int node : event.nodes) {
    NodeState& state = turn.node(node);
    if (!reachable(state)) continue;
    state.last_heard = turn.now;
    state.suspected = false;
  }
}

// An agent on this machine that merely had no CPU time is not lost.
void agent_seen(Turn& turn, const AgentSeen& event) {
  NodeState& state = turn.node(event.node);
  const JobTime silent = turn.now - state.last_heard;
  if (!reachable(state) || silent < kDead) return;
  if (event.process == 0) {
    lose(turn, event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
         fmt::format("no sign of life for {}", seconds_text(silent)));
    return turn.close(event.node);
  }
  if (event.stopped && silent >= kLease) {
    lose(turn, event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
         fmt::format("dtagent (process {}) was stopped for {} by a signal or a debugger",
                     event.process, seconds_text(silent)));
    turn.close(event.node);
    // A stopped agent cannot end its ranks. Once it is dead, its guard does.
    turn.effects.push_back(KillAgent{event.process});
    return;
  }
  if (std::exchange(state.looked_at, true)) return;
  turn.notice(
      event.node,
      event.stopped
          ? fmt::format("dtagent (process {0}) is stopped (state T); the job ends unless it "
                        "goes on within {1}: kill -CONT {0}",
                        event.process, seconds_text(kLease - silent))
          : fmt::format("dtagent (process {}) runs, but had no time for {}; it is waited for",
                        event.process, seconds_text(silent)));
}

// A launcher that was stopped, by a signal or with its machine, has received nothing. That is not
// the nodes' fault.
void excuse_own_absence(Turn& turn) {
  const JobTime absent = turn.now - turn.job.last_step;
  // A shorter absence cannot make a node look lost.
  if (absent <= kSuspect) return;
  for (NodeState& node : turn.job.nodes) {
    node.last_heard = turn.now;
    node.link.excuse(absent);
  }
  plan_searches(turn);
  turn.job.watch.excuse(turn.now);
  turn.job.slow_links.excuse(turn.now);
  outlive_leases(turn, absent);
  if (!turn.job.outlived_leases || turn.ending()) {
    turn.notice(-1, fmt::format("was stopped for {}", seconds_text(absent)));
    return;
  }
  end_as_outlived(turn, absent);
}

void end_as_outlived(Turn& turn, JobTime absent) {
  Outcome outcome;
  outcome.cause = Cause::kStoppedSelf;
  outcome.exit_status = static_cast<int>(Exit::kTryAgain);
  outcome.text = seconds_text(absent);
  abandon(turn, std::move(outcome));
}

void continued(Turn& turn) {
  const JobTime absent = turn.now - turn.job.last_step;
  for (NodeState& node : turn.job.nodes) {
    node.last_heard = turn.now;
    node.link.excuse(absent);
  }
  plan_searches(turn);
  // The pause, which suspends the leases, was announced only in some states (stops.cc).
  if (!turn.may_pause()) {
    outlive_leases(turn, absent);
    if (turn.job.outlived_leases && !turn.ending()) return end_as_outlived(turn, absent);
  }
  turn.job.watch.excuse(turn.now);
  turn.job.slow_links.excuse(turn.now);
  turn.job.next_silence = turn.now + kSuspect;
  // At once: agents have had no sign of life since the pause.
  turn.job.next_heartbeat = turn.now;
  // The ranks were stopped with dtlaunch by pause() in stops.cc.
  if (turn.may_pause()) turn.send_to_all(Signal{SIGCONT});
}

}  // namespace dtl::job
