// Each further signal does more: the first asks the ranks to end, the second kills them, the third
// stops waiting.
#include "launcher/job/stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "launcher/job/losses.h"
#include "launcher/job/machine.h"
#include "launcher/job/preflight.h"
#include "launcher/job/searches.h"

namespace dtl::job {
namespace {

// ^Z suspends the leases of agents whose ranks run, or who wait in line. While the job ends nothing
// is stopped, because that would delay the end.
void pause(Turn& turn) {
  if (turn.may_pause()) turn.send_to_all(Signal{SIGSTOP});
  turn.effects.push_back(StopSelf{});
}

void give_up_start(Turn& turn, int node) {
  if (turn.node(node).phase != NodePhase::kStarting) return;
  turn.notice(node, "the agent did not come up in time");
  turn.close(node);
  fail_start(turn, node, Exit::kUnreachable);
}

void give_up_preflight(Turn& turn, int node) {
  const NodeState& state = turn.node(node);
  const bool told = state.listening && (state.examined || !turn.job.asked);
  const bool answered = turn.job.probe_round == 0 ? told : state.reached.has_value();
  if (state.phase != NodePhase::kReady || answered) return;
  lose(turn, node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
       "no answer to the connection test");
  turn.close(node);
}

void give_up_claim(Turn& turn, int node) {
  const NodeState& state = turn.node(node);
  if (!state.has_ranks || state.phase != NodePhase::kReady) return;
  if (turn.job.claiming.answered.contains(node)) return;
  lose(turn, node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
       "no answer to the claim of its cores");
  turn.close(node);
}

void give_up_finish(Turn& turn, int node) {
  if (turn.node(node).phase != NodePhase::kEnding) return;
  turn.notice(node, "does not confirm that everything has ended; look there with: ps -ef");
  turn.close(node);
}

}  // namespace

void signalled(Turn& turn, const Signalled& event) {
  if (event.signal == SIGTSTP) {
    pause(turn);
    // Before the signals for ranks: in Slurm jobs the notice is SIGUSR1.
  } else if (event.signal == turn.job.options.ending.notice_signal) {
    told_to_go(turn, ToldToGo{-1, signal_name(event.signal)});
  } else if (event.signal == SIGUSR1 || event.signal == SIGUSR2) {
    const bool running = turn.job.state == JobState::kRunning;
    if (running) turn.send_to_all(Signal{static_cast<std::uint32_t>(event.signal)});
  } else if (!turn.ending() || turn.job.outcome->cause == Cause::kHostsChanged ||
             turn.job.outcome->cause == Cause::kNotice) {
    // Ranks that are stopping for a change of hosts now end for good.
    if (turn.ending()) turn.job.outcome.reset();
    // With one_sigterm a second SIGTERM kills nothing, so the line must not promise it.
    const bool once = event.signal == SIGTERM && turn.job.options.one_sigterm;
    turn.notice(-1, fmt::format("{}: stopping the job{}", signal_name(event.signal),
                                once ? "" : "; once more to kill it"));
    Outcome outcome;
    outcome.cause = Cause::kInterrupted;
    outcome.signal = event.signal;
    outcome.exit_status = 128 + event.signal;
    abandon(turn, std::move(outcome));
  } else if (event.signal == SIGTERM && turn.job.options.one_sigterm) {
    // The ranks are ending within their grace.
  } else if (!turn.job.kill_sent) {
    turn.job.kill_sent = true;
    turn.send_to_all(Kill{});
    // A host without a connection cannot be told to kill.
    hurry_searches(turn, turn.now);
    const JobTime latest = turn.now + kReapDeadline + kAnswerMargin;
    if (turn.job.deadline) turn.job.deadline = std::min(*turn.job.deadline, latest);
  } else {
    deadline_passed(turn);  // third signal: the user does not want to wait
  }
}

// The ranks stop in the same way as for any other reason. launcher/restart decides between two
// epochs what follows.
void told_to_go(Turn& turn, const ToldToGo& event) {
  if (event.node >= 0) {
    NodeState& node = turn.node(event.node);
    // A cloud's notice and a scheduler's signal may announce the same.
    if (node.told_to_go || node.phase >= NodePhase::kFinished) return;
    node.told_to_go = true;
    if (event.left) node.goes = turn.now + *event.left;
    std::string text = "has to go";
    if (event.left) text += " in " + seconds_text(*event.left);
    text += " (" + event.told_by + ")";
    if (!turn.ending()) text += ": stopping the ranks";
    turn.notice(event.node, text);
    if (node.goes) turn.job.goes = std::min(turn.job.goes.value_or(*node.goes), *node.goes);
  } else if (!turn.ending()) {
    turn.notice(-1, event.told_by + ": the job's time is nearly over: stopping the ranks");
  }
  // The job is stopping already; the host may only have less time than the ranks were given.
  if (turn.ending()) return hurry_stop(turn);
  Outcome outcome;
  outcome.cause = Cause::kNotice;
  outcome.node = event.node;
  outcome.exit_status = 128 + SIGTERM;
  outcome.text = event.told_by;
  abandon(turn, std::move(outcome));
}

void hosts_changed(Turn& turn) {
  if (turn.job.state != JobState::kRunning) return;
  Outcome outcome;
  outcome.cause = Cause::kHostsChanged;
  outcome.exit_status = static_cast<int>(Exit::kTryAgain);
  abandon(turn, std::move(outcome));
}

void output_closed(Turn& turn) {
  if (turn.ending()) return;
  Outcome outcome;
  outcome.cause = Cause::kOutputClosed;
  // Like a shell, for a program that wrote into a closed pipe.
  outcome.exit_status = 128 + SIGPIPE;
  abandon(turn, std::move(outcome));
}

void refused(Turn& turn, const Refused& event) {
  Outcome outcome;
  outcome.cause = event.cause;
  outcome.exit_status = event.exit_status;
  abandon(turn, std::move(outcome));
}

void deadline_passed(Turn& turn) {
  if (turn.job.state == JobState::kWaiting) return waited_too_long(turn);
  turn.job.deadline.reset();
  const JobState waited_in = turn.job.state;
  for (int node = 0; node < turn.node_count(); ++node) {
    if (waited_in == JobState::kStarting) give_up_start(turn, node);
    if (waited_in == JobState::kPreflight) give_up_preflight(turn, node);
    if (waited_in == JobState::kClaiming) give_up_claim(turn, node);
    if (waited_in == JobState::kFinishing) give_up_finish(turn, node);
  }
  // Giving up a node may have moved the job already.
  if (turn.job.state == waited_in) transition(turn, Move::kDeadline);
}

}  // namespace dtl::job
