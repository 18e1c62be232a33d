#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "launcher/job/job_stepper.h"

namespace dtl::job {

bool gone(const RankState& rank) {
  return rank.phase != RankPhase::kWaiting && rank.phase != RankPhase::kStarted;
}

bool reachable(const NodeState& node) {
  return node.phase == NodePhase::kReady || node.phase == NodePhase::kEnding;
}

std::string seconds_text(JobTime time) {
  return fmt::format("{} s", (time + 500ms) / 1s);
}

void Stepper::fail_start(int node, Exit status) {
  node_state(node).phase = NodePhase::kGone;
  node_state(node).start_failure = status;
  check_started();
  check_agents();
}

void Stepper::check_started() {
  if (job_.state != JobState::kStarting) return;
  int first_failed = -1;
  for (int node = node_count() - 1; node >= 0; --node) {
    if (node_state(node).phase == NodePhase::kStarting) return;
    if (node_state(node).start_failure) first_failed = node;
  }
  if (first_failed < 0) {
    move(Move::kAllUp);
    return;
  }
  Outcome outcome;
  outcome.cause = Cause::kCannotStart;
  outcome.node = first_failed;
  outcome.exit_status = static_cast<int>(*node_state(first_failed).start_failure);
  abandon(std::move(outcome));
}

void Stepper::check_ranks() {
  if (std::all_of(job_.ranks.begin(), job_.ranks.end(), gone)) move(Move::kRanksGone);
}

void Stepper::check_agents() {
  const auto away = [](const NodeState& node) {
    return node.phase == NodePhase::kFinished || node.phase == NodePhase::kGone;
  };
  if (std::all_of(job_.nodes.begin(), job_.nodes.end(), away)) move(Move::kAgentsGone);
}

void Stepper::lose(int node, Cause cause, int exit_status, const std::string& text) {
  NodeState& state = node_state(node);
  if (!reachable(state)) return;
  const bool expected = state.phase == NodePhase::kEnding;
  state.phase = NodePhase::kGone;
  state.link.end();
  state.given_up = now_;
  state.agent_failed = cause == Cause::kAgentFailed;
  if (job_.state == JobState::kStarting) {
    notice(node, text);
    fail_start(node, static_cast<Exit>(exit_status));
    return;
  }
  const bool had_left = state.here && job_.long_absence && now_ < job_.absence_ended + kSuspect;
  if (had_left) job_.outlived_leases = true;
  for (RankState& rank : job_.ranks) {
    if (rank.node != node || gone(rank)) continue;
    rank.phase = RankPhase::kLost;
    rank.ended = now_;
    rank.after_stop = ending();
  }
  Outcome outcome;
  outcome.cause = cause;
  outcome.node = node;
  outcome.exit_status = exit_status;
  outcome.text = text;
  if (ending()) {
    const bool own_fault = job_.outlived_leases || cause == Cause::kUpEnded;
    if (!own_fault && !blame(outcome)) {
      notice(node, fmt::format("lost while it was ending the job: {}", text));
    }
  } else if (!expected && had_left) {
    end_as_outlived(*job_.long_absence);
  } else if (!expected) {
    abandon(std::move(outcome));
  }
  check_ranks();
  check_agents();
}

void Stepper::garbage(int node, const std::string& what) {
  lose(node, Cause::kAgentFailed, static_cast<int>(Exit::kVersion), "it sent " + what);
  close(node);
}

void Stepper::close(int node) {
  effects.push_back(CloseNode{node});
  node_state(node).phase = NodePhase::kGone;
}

void Stepper::send_to_all(const Message& message) {
  for (int node = 0; node < node_count(); ++node) {
    if (reachable(node_state(node))) send(node, message);
  }
}

// A launcher that was itself stopped (by a signal, or with its machine) has heard nobody, and that
// is not the nodes' fault.
void Stepper::excuse_own_absence() {
  const JobTime absent = now_ - job_.last_step;
  if (absent <= kSuspect) return;
  for (NodeState& node : job_.nodes) {
    node.last_heard = now_;
    node.link.excuse(absent);
  }
  plan_searches();
  job_.watch.excuse(now_);
  job_.slow_links.excuse(now_);
  outlive_leases(absent);
  if (!job_.outlived_leases || ending()) {
    notice(-1, fmt::format("was stopped for {}", seconds_text(absent)));
    return;
  }
  end_as_outlived(absent);
}

// After kLease without it the nodes have ended the job, counted from the last heartbeat; agents
// that were being started have waited no longer for its first words.
void Stepper::outlive_leases(JobTime absent) {
  if (absent > kLease - kHeartbeat) {
    job_.long_absence = absent;
    job_.absence_ended = now_;
  }
  const auto waited_in_vain = [&](const NodeState& node) {
    return absent > kLease - kHeartbeat + node.link.patience() && !node.here &&
           (reachable(node) || node.phase == NodePhase::kStarting);
  };
  if (std::any_of(job_.nodes.begin(), job_.nodes.end(), waited_in_vain)) {
    job_.outlived_leases = true;
  }
}

void Stepper::end_as_outlived(JobTime absent) {
  Outcome outcome;
  outcome.cause = Cause::kStoppedSelf;
  outcome.exit_status = static_cast<int>(Exit::kTryAgain);
  outcome.text = seconds_text(absent);
  abandon(std::move(outcome));
}

// Of ranks that ended by themselves; whoever is ended by us leaves what we end.
void Stepper::tell_what_was_left() {
  if (job_.leavers.empty()) return;
  notice(-1, fmt::format("rank{} {} left {} process{} behind; ended",
                         job_.leavers.size() == 1 ? "" : "s", fold_ranks(job_.leavers),
                         job_.left_processes, job_.left_processes == 1 ? "" : "es"));
  job_.leavers.clear();
  job_.left_processes = 0;
}

void Stepper::send_heartbeats() {
  if (now_ < job_.next_heartbeat) return;
  tell_what_was_left();
  Heartbeat heartbeat;
  heartbeat.monotonic_ms = static_cast<std::uint64_t>(now_.count());
  send_to_all(heartbeat);
  job_.next_heartbeat = now_ + kHeartbeat;
}

void Stepper::watch_silence() {
  if (now_ < job_.next_silence) return;
  JobTime next = now_ + kSuspect;
  for (int node = 0; node < node_count(); ++node) {
    NodeState& state = node_state(node);
    if (state.phase != NodePhase::kReady || state.link.searching()) continue;
    const JobTime silent = now_ - state.last_heard;
    if (silent >= kDead && search_for(node)) continue;
    if (silent >= kDead && state.here) {
      effects.push_back(LookAtAgent{node});
      next = std::min(next, now_ + kHeartbeat);
      continue;
    }
    if (silent >= kDead) {
      lose(node, Cause::kNodeLost, static_cast<int>(Exit::kUnreachable),
           fmt::format("no sign of life for {}", seconds_text(silent)));
      close(node);
      continue;
    }
    if (silent >= kSuspect && !state.suspected) {
      state.suspected = true;
      tell_suspicion(node, silent);
    }
    next =
        std::min(next, state.last_heard + (state.suspected ? JobTime(kDead) : JobTime(kSuspect)));
  }
  job_.next_silence = next;
}

void Stepper::tell_suspicion(int node, JobTime silent) {
  const NodeState& state = node_state(node);
  const std::string then = state.here ? "it is waited for while its process can run"
                                      : "the job goes on if one comes within " +
                                            seconds_text(kDead + state.link.patience());
  notice(node, fmt::format("no sign of life for {}; {}", seconds_text(silent), then));
}

// One that has only not had its turn on this machine is not lost.
void Stepper::operator()(const AgentSeen& event) {
  NodeState& state = node_state(event.node);
  const JobTime silent = now_ - state.last_heard;
  if (!reachable(state) || silent < kDead) return;
  if (event.process == 0) {
    lose(event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
         fmt::format("no sign of life for {}", seconds_text(silent)));
    return close(event.node);
  }
  if (event.stopped && silent >= kLease) {
    lose(event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
         fmt::format("dtagent (process {}) was stopped for {} by a signal or a debugger",
                     event.process, seconds_text(silent)));
    close(event.node);
    effects.push_back(KillAgent{event.process});
    return;
  }
  if (std::exchange(state.looked_at, true)) return;
  notice(event.node,
         event.stopped
             ? fmt::format("dtagent (process {0}) is stopped (state T); the job ends unless it "
                           "goes on within {1}: kill -CONT {0}",
                           event.process, seconds_text(kLease - silent))
             : fmt::format("dtagent (process {}) runs, but had no time for {}; it is waited for",
                           event.process, seconds_text(silent)));
}

// A stop that takes long is explained, because the card comes only at its end.
void Stepper::tell_whom_we_wait_for() {
  job_.patience.reset();
  if (job_.state != JobState::kStopping) return;
  std::vector<int> waiting;
  for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
    if (!gone(job_.ranks[rank])) waiting.push_back(static_cast<int>(rank));
  }
  notice(-1, fmt::format("waiting for rank{} {} to end; SIGKILL comes {:.1f} s after SIGTERM",
                         waiting.size() == 1 ? "" : "s", fold_ranks(waiting),
                         static_cast<double>(stop_grace().count()) / 1000));
}

// Said once: in some jobs it is as it should be, in others it is why nothing moves any more.
void Stepper::tell_who_ended_early() {
  job_.early_end.reset();
  if (job_.state != JobState::kRunning) return;
  std::vector<int> ended, running;
  for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
    (gone(job_.ranks[rank]) ? ended : running).push_back(static_cast<int>(rank));
  }
  notice(-1, fmt::format("rank{} {} ended with status 0 {} ago; rank{} {} still run{}",
                         ended.size() == 1 ? "" : "s", fold_ranks(ended), seconds_text(kEarlyEnd),
                         running.size() == 1 ? "" : "s", fold_ranks(running),
                         running.size() == 1 ? "s" : ""));
}

void Stepper::deadline_passed() {
  job_.deadline.reset();
  const JobState waited_in = job_.state;
  for (int node = 0; node < node_count(); ++node) {
    if (waited_in == JobState::kStarting) give_up_start(node);
    if (waited_in == JobState::kPreflight) give_up_preflight(node);
    if (waited_in == JobState::kFinishing) give_up_finish(node);
  }
  if (job_.state == waited_in) move(Move::kDeadline);
}

void Stepper::give_up_start(int node) {
  if (node_state(node).phase != NodePhase::kStarting) return;
  notice(node, "the agent did not come up in time");
  close(node);
  fail_start(node, Exit::kUnreachable);
}

void Stepper::give_up_preflight(int node) {
  const NodeState& state = node_state(node);
  const bool told = state.listening && (state.examined || !job_.asked);
  const bool answered = job_.probe_round == 0 ? told : state.reached.has_value();
  if (state.phase != NodePhase::kReady || answered) return;
  lose(node, Cause::kAgentFailed, static_cast<int>(Exit::kOs), "no answer to the connection test");
  close(node);
}

void Stepper::give_up_finish(int node) {
  if (node_state(node).phase != NodePhase::kEnding) return;
  notice(node, "does not confirm that everything has ended; look there with: ps -ef");
  close(node);
}

}  // namespace dtl::job
