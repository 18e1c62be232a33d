// Only dispatches events to functions. Every event and message has a case in a visit, so a new one
// does not compile until somebody decides about it.
#include "launcher/job/job.h"

#include <algorithm>
#include <utility>

#include "launcher/job/losses.h"
#include "launcher/job/machine.h"
#include "launcher/job/mpi.h"
#include "launcher/job/preflight.h"
#include "launcher/job/rank_events.h"
#include "launcher/job/searches.h"
#include "launcher/job/silence.h"
#include "launcher/job/stops.h"
#include "launcher/job/telling.h"
#include "launcher/job/turn.h"

namespace dtl {
namespace job {
namespace {

void hear(Turn& turn, const FromAgent& event) {
  NodeState& node = turn.node(event.node);
  // Messages may still arrive from a node that was given up.
  if (!reachable(node)) return;
  node.looked_at = false;
  node.suspected = false;  // silently: the notice has said what an answer means
  // Any message is a sign of life.
  node.last_heard = turn.now;
  const Overloaded handle{
      [&](const Listening& message) { hear_listening(turn, event.node, message); },
      [&](const Examined& message) { hear_examined(turn, event.node, message); },
      [&](const Reached& message) { hear_reached(turn, event.node, message); },
      [&](const Started& message) { hear_started(turn, event.node, message); },
      [&](const SpawnFailed& message) { hear_spawn_failed(turn, event.node, message); },
      [&](const Exited& message) { hear_exited(turn, event.node, message, event.words); },
      [&](const Evidence& message) {
        if (RankState* rank = rank_of(turn, event.node, message.rank)) rank->evidence = message;
      },
      [&](const Stack& message) {
        if (RankState* rank = rank_of(turn, event.node, message.rank)) rank->stack = message;
      },
      [&](const NativeStack& message) {
        if (RankState* rank = rank_of(turn, event.node, message.rank)) rank->native = message;
      },
      [&](const PmiFence& message) { hear_fence(turn, event.node, message); },
      [&](const MpiNews& message) { hear_mpi_news(turn, event.node, message); },
      [&](const PmixFence& message) { hear_pmix_fence(turn, event.node, message); },
      [&](const PmixWanted& message) { hear_pmix_wanted(turn, event.node, message); },
      [&](const PmixGiven& message) { hear_pmix_given(turn, event.node, message); },
      [&](const CoresClaimed& message) { hear_claimed(turn, event.node, message); },
      [&](const CoresSeen& message) { hear_seen(turn, event.node, message); },
      [&](const PmixReady&) { garbage(turn, event.node, "what dtpmix says to its agent only"); },
      [&](const RankStates& message) { hear_states(turn, event.node, message); },
      [&](const Finished& message) { hear_finished(turn, event.node, message); },
      [&](const Leaving& message) {
        told_to_go(turn, ToldToGo{event.node, message.told_by, JobTime(message.left_ms)});
      },
      // The agent's own words for why it cannot go on.
      [&](const Trouble& message) {
        lose(turn, event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs), message.text);
        turn.close(event.node);
      },
      // Shown without a decision; they are signs of life.
      [](const OneOf<Output, Skipped, StdinTaken, StdinClosed, dtl::Notice, Heartbeat, Received,
                     TreeJoined, Relayed, PieceWanted> auto&) {},
      [&](const Hello&) { garbage(turn, event.node, "a second greeting"); },
      [&](const Resumed&) { garbage(turn, event.node, "an answer to no offer"); },
      [&](const LaunchersMessage auto&) {
        garbage(turn, event.node, "a message that only a launcher sends");
      }};
  std::visit(handle, event.message);
}

void tick(Turn& turn) {
  send_heartbeats(turn);
  watch_silence(turn);
  watch_searches(turn);
  // --timeout counts from the beginning of the job: the start is part of it, but not the wait.
  if (turn.job.options.ending.timeout && turn.now >= *turn.job.options.ending.timeout &&
      !turn.ending() && turn.job.state != JobState::kWaiting) {
    Outcome outcome;
    outcome.cause = Cause::kTimeout;
    outcome.exit_status = static_cast<int>(Exit::kTimeout);
    abandon(turn, std::move(outcome));
  }
  // No better cause has come in time.
  if (turn.job.suspect && !turn.ending() && turn.now >= turn.job.blame_until)
    abandon(turn, *turn.job.suspect);
  look_at_ranks(turn);
  look_at_mpi(turn);
  if (turn.job.early_end && turn.now >= *turn.job.early_end) tell_who_ended_early(turn);
  if (turn.job.patience && turn.now >= *turn.job.patience) tell_whom_we_wait_for(turn);
  if (turn.job.deadline && turn.now >= *turn.job.deadline) deadline_passed(turn);
}

void take(Turn& turn, const Event& event) {
  const Overloaded handle{[&](const AgentReady& of) { agent_ready(turn, of); },
                          [&](const AgentFailed& of) { agent_failed(turn, of); },
                          [&](const AgentLost& of) { agent_lost(turn, of); },
                          [&](const AgentSeen& of) { agent_seen(turn, of); },
                          [&](const LinkTried& of) { link_tried(turn, of); },
                          [&](const BranchTaken& of) { branch_taken(turn, of); },
                          [&](const Alive& of) { heard_of(turn, of); },
                          [&](const FromAgent& of) { hear(turn, of); },
                          [&](const Placed& of) { ranks_placed(turn, of); },
                          [&](const Judged& of) { network_judged(turn, of); },
                          [&](const Planned&) { transition(turn, Move::kPlanned); },
                          [&](const MustWait& of) { must_wait(turn, of); },
                          [&](const Refused& of) { refused(turn, of); },
                          [&](const Signalled& of) { signalled(turn, of); },
                          [&](const Continued&) { continued(turn); },
                          [&](const ToldToGo& of) { told_to_go(turn, of); },
                          [&](const HostsChanged&) { hosts_changed(turn); },
                          [&](const OutputClosed&) { output_closed(turn); },
                          [&](const Tick&) { tick(turn); }};
  std::visit(handle, event);
}

}  // namespace
}  // namespace job

const char* state_name(JobState state) {
  switch (state) {
    case JobState::kStarting:
      return "starting";
    case JobState::kWaiting:
      return "waiting";
    case JobState::kPreflight:
      return "preflight";
    case JobState::kPlanning:
      return "planning";
    case JobState::kClaiming:
      return "claiming";
    case JobState::kRunning:
      return "running";
    case JobState::kStopping:
      return "stopping";
    case JobState::kFinishing:
      return "finishing";
    case JobState::kDone:
      return "done";
  }
  return "?";
}

Job make_job(std::size_t nodes, JobOptions options) {
  Job job;
  job.options = options;
  job.nodes.resize(nodes);
  job.deadline = job.options.start_deadline;
  return job;
}

std::vector<job::Effect> step(Job& job, const job::Event& event, JobTime now) {
  if (job.state == JobState::kDone) return {};
  job::Turn turn{job, now};
  // After a ^Z the absence was announced to the agents, and continued() handles it.
  if (!std::holds_alternative<job::Continued>(event)) job::excuse_own_absence(turn);
  job::take(turn, event);
  // The next event tells from this whether dtlaunch was stopped in between.
  job.last_step = now;
  return std::move(turn.effects);
}

JobTime next_wakeup(const Job& job) {
  JobTime next = std::min(job.next_heartbeat, job.next_silence);
  if (job.early_end) next = std::min(next, *job.early_end);
  if (job.deadline) next = std::min(next, *job.deadline);
  if (job.suspect && job.state < JobState::kStopping) next = std::min(next, job.blame_until);
  if (job.mpi.left && job.state < JobState::kStopping) next = std::min(next, job.mpi.left_by);
  if (job.next_link) next = std::min(next, *job.next_link);
  // A job that is ending has deadlines of its own.
  const bool works = job.state < JobState::kStopping && job.state != JobState::kWaiting;
  if (job.options.ending.timeout && works) {
    next = std::min(next, *job.options.ending.timeout);
  }
  return next;
}

}  // namespace dtl
