#include "launcher/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "launcher/job/job_stepper.h"

namespace dtl {
namespace job {
namespace {

struct Row {
  JobState from;
  Move move;
  JobState to;
};

// The whole machine. What is not listed does not move the job.
constexpr Row kTable[] = {
    {JobState::kStarting, Move::kAllUp, JobState::kPreflight},
    {JobState::kStarting, Move::kAbandon, JobState::kFinishing},
    {JobState::kPreflight, Move::kProbed, JobState::kPlanning},
    {JobState::kPreflight, Move::kAbandon, JobState::kFinishing},
    {JobState::kPlanning, Move::kPlanned, JobState::kRunning},
    {JobState::kPlanning, Move::kAbandon, JobState::kFinishing},
    {JobState::kRunning, Move::kRanksGone, JobState::kFinishing},
    {JobState::kRunning, Move::kAbandon, JobState::kStopping},
    {JobState::kStopping, Move::kRanksGone, JobState::kFinishing},
    {JobState::kStopping, Move::kDeadline, JobState::kFinishing},
    {JobState::kFinishing, Move::kAgentsGone, JobState::kDone},
    {JobState::kFinishing, Move::kDeadline, JobState::kDone},
};

bool explains_failures(Cause cause) {
  constexpr Cause kCauses[] = {Cause::kSpawn,      Cause::kRankExit,    Cause::kRankSignal,
                               Cause::kNodeLost,   Cause::kAgentFailed, Cause::kUpEnded,
                               Cause::kStoppedSelf};
  return std::find(std::begin(kCauses), std::end(kCauses), cause) != std::end(kCauses);
}

}  // namespace

// The only place where the state changes.
void Stepper::move(Move move) {
  for (const Row& row : kTable) {
    if (row.from != job_.state || row.move != move) continue;
    job_.state = row.to;
    job_.deadline.reset();
    enter(row.to);
    return;
  }
}

void Stepper::enter(JobState state) {
  switch (state) {
    case JobState::kStarting:
      break;
    case JobState::kPreflight:
      job_.deadline = now_ + kConnectDeadline + kAnswerMargin;
      effects.push_back(PlaceRanks{});
      break;
    case JobState::kPlanning:
      effects.push_back(MakePlan{});
      break;
    case JobState::kRunning:
      effects.push_back(StartRanks{});
      begin_watch();
      break;
    case JobState::kStopping:
      enter_stopping();
      break;
    case JobState::kFinishing:
      enter_finishing();
      break;
    case JobState::kDone:
      break;
  }
}

JobTime Stepper::stop_grace() const {
  const bool by_user = job_.outcome && job_.outcome->cause == Cause::kInterrupted;
  const JobTime grace = job_.options.ending.grace.value_or(by_user ? kInterruptGrace : kKillGrace);
  if (!job_.goes) return grace;
  // Its agent has a word to say afterwards.
  const JobTime left = std::max(*job_.goes - job_.stop_began, JobTime{0});
  return std::min(grace, std::max(left - JobTime(kAnswerMargin), left / 2));
}

void Stepper::enter_stopping() {
  tell_what_was_left();
  job_.stop_began = now_;
  Stop stop;
  const bool hangs = job_.hang.has_value();
  const bool ask = hangs || (job_.outcome && job_.outcome->cause == Cause::kTimeout);
  if (ask) stop.ask_ms = static_cast<std::uint32_t>(JobTime(kAskRanks).count());
  const JobTime asked = now_ + JobTime(stop.ask_ms) + JobTime(hangs ? kAskNative : 0s);
  job_.patience = asked + kHeartbeat;
  job_.deadline = asked + stop_grace() + kReapDeadline + kAnswerMargin;
  hurry_searches(asked + stop_grace() + kAnswerMargin);
  if (hangs) {
    send_to_all(WatchRanks{0, static_cast<std::uint32_t>(JobTime(kAskNative).count())});
  }
  stop.signal = SIGTERM;
  stop.grace_ms = static_cast<std::uint32_t>(stop_grace().count());
  send_to_all(stop);
  check_ranks();
}

void Stepper::enter_finishing() {
  tell_what_was_left();
  if (!job_.outcome) job_.outcome = job_.suspect.value_or(Outcome{});
  job_.deadline = now_ + kReapDeadline + kAnswerMargin;
  hurry_searches(now_ + kReapDeadline);
  for (int node = 0; node < node_count(); ++node) {
    NodeState& state = node_state(node);
    if (state.phase == NodePhase::kStarting) close(node);
    if (state.phase != NodePhase::kReady) continue;
    send(node, Finish{});
    state.phase = NodePhase::kEnding;
  }
  check_agents();
}

// What a user, a clock or a scheduler wants comes after a failure that has already happened.
void Stepper::abandon(Outcome outcome) {
  if (job_.suspect && !explains_failures(outcome.cause)) outcome = *job_.suspect;
  if (!job_.outcome) job_.outcome = std::move(outcome);
  move(Move::kAbandon);
}

void Stepper::operator()(const AgentReady& event) {
  NodeState& node = node_state(event.node);
  if (node.phase != NodePhase::kStarting) return;
  node.phase = NodePhase::kReady;
  node.last_heard = now_;
  node.up = now_;
  node.here = event.here;
  if (event.can_be_found_again) node.link = LinkSearch(job_.options.ending.reconnect);
  if (job_.options.ending.spot != Cloud::kOff)
    send(event.node, WatchNotices{job_.options.ending.spot});
  check_started();
}

void Stepper::operator()(const AgentFailed& event) {
  if (node_state(event.node).phase == NodePhase::kStarting) fail_start(event.node, event.status);
}

void Stepper::operator()(const AgentLost& event) {
  if (event.may_live && search_for(event.node)) return;
  lose(event.node, event.cause, event.exit_status, event.text);
}

void Stepper::operator()(const Placed& event) {
  if (job_.state != JobState::kPreflight || !job_.used.empty()) return;
  job_.used = event.nodes;
  for (std::size_t k = 0; k < event.nodes.size(); ++k) {
    for (const int rank : event.ranks[k]) {
      job_.ranks.resize(std::max(job_.ranks.size(), static_cast<std::size_t>(rank) + 1));
      job_.ranks[static_cast<std::size_t>(rank)].node = event.nodes[k];
    }
  }
  for (int node = 0; node < node_count(); ++node) {
    if (std::find(job_.used.begin(), job_.used.end(), node) != job_.used.end()) continue;
    send(node, Finish{});
    node_state(node).phase = NodePhase::kEnding;
  }
  job_.asked = event.question.has_value();
  for (std::size_t k = 0; k < job_.used.size(); ++k) {
    if (event.question) send(job_.used[k], *event.question);  // answered before Listening
    send(job_.used[k],
         Listen{event.machines.empty() ? static_cast<std::uint32_t>(k) : event.machines[k],
                job_.options.ports.low, job_.options.ports.high});
  }
}

void Stepper::operator()(const Judged& event) {
  if (job_.state != JobState::kPreflight || job_.probe_round == 0) return;
  if (event.again && job_.probe_round == 1) {
    probe(2);
    return;
  }
  for (const int node : job_.used) send(node, StopListening{});
  move(Move::kProbed);  // without a network the plan is refused, and that says why
}

void Stepper::operator()(const Refused& event) {
  Outcome outcome;
  outcome.cause = event.cause;
  outcome.exit_status = event.exit_status;
  abandon(std::move(outcome));
}

void Stepper::operator()(const Signalled& event) {
  if (event.signal == SIGTSTP) {
    pause();
  } else if (event.signal == job_.options.ending.notice_signal) {
    (*this)(ToldToGo{-1, signal_name(event.signal)});
  } else if (event.signal == SIGUSR1 || event.signal == SIGUSR2) {
    const bool running = job_.state == JobState::kRunning;
    if (running) send_to_all(Signal{static_cast<std::uint32_t>(event.signal)});
  } else if (!ending() || job_.outcome->cause == Cause::kHostsChanged ||
             job_.outcome->cause == Cause::kNotice) {
    // Ranks that are ending for other hosts' sake are ending for good from now on.
    if (ending()) job_.outcome.reset();
    const bool once = event.signal == SIGTERM && job_.options.one_sigterm;
    notice(-1, fmt::format("{}: stopping the job{}", signal_name(event.signal),
                           once ? "" : "; once more to kill it"));
    Outcome outcome;
    outcome.cause = Cause::kInterrupted;
    outcome.signal = event.signal;
    outcome.exit_status = 128 + event.signal;
    abandon(std::move(outcome));
  } else if (event.signal == SIGTERM && job_.options.one_sigterm) {
    // The ranks are ending, and have their time.
  } else if (!job_.kill_sent) {
    job_.kill_sent = true;
    send_to_all(Kill{});
    hurry_searches(now_);
    const JobTime latest = now_ + kReapDeadline + kAnswerMargin;
    if (job_.deadline) job_.deadline = std::min(*job_.deadline, latest);
  } else {
    deadline_passed();  // a third time: the user does not want to wait
  }
}

// ^Z suspends the leases of agents whose ranks run. While the job ends nothing of it is stopped:
// that would only keep it from ending.
void Stepper::pause() {
  if (job_.state == JobState::kRunning) send_to_all(Signal{SIGSTOP});
  effects.push_back(StopSelf{});
}

void Stepper::operator()(const Continued&) {
  const JobTime absent = now_ - job_.last_step;
  for (NodeState& node : job_.nodes) {
    node.last_heard = now_;
    node.link.excuse(absent);
  }
  plan_searches();
  if (job_.state != JobState::kRunning) {
    outlive_leases(absent);
    if (job_.outlived_leases && !ending()) return end_as_outlived(absent);
  }
  job_.watch.excuse(now_);
  job_.slow_links.excuse(now_);
  job_.next_silence = now_ + kSuspect;
  job_.next_heartbeat = now_;
  if (job_.state == JobState::kRunning) send_to_all(Signal{SIGCONT});
}

// The ranks stop at the same step, as for any other reason; what comes then is decided between two
// epochs.
void Stepper::operator()(const ToldToGo& event) {
  if (event.node >= 0) {
    NodeState& node = node_state(event.node);
    if (node.told_to_go || node.phase >= NodePhase::kFinished) return;
    node.told_to_go = true;
    if (event.left) node.goes = now_ + *event.left;
    std::string text = "has to go";
    if (event.left) text += " in " + seconds_text(*event.left);
    text += " (" + event.told_by + ")";
    if (!ending()) text += ": stopping the ranks";
    notice(event.node, text);
    if (node.goes) job_.goes = std::min(job_.goes.value_or(*node.goes), *node.goes);
  } else if (!ending()) {
    notice(-1, event.told_by + ": the job's time is nearly over: stopping the ranks");
  }
  if (ending()) return hurry_stop();
  Outcome outcome;
  outcome.cause = Cause::kNotice;
  outcome.node = event.node;
  outcome.exit_status = 128 + SIGTERM;
  outcome.text = event.told_by;
  abandon(std::move(outcome));
}

// A host that goes earlier than the ranks have to be gone.
void Stepper::hurry_stop() {
  if (job_.state != JobState::kStopping || !job_.goes || job_.kill_sent) return;
  Stop stop;
  stop.signal = 0;  // a second SIGTERM would end who is writing a checkpoint
  const JobTime left = std::max(job_.stop_began + stop_grace() - now_, JobTime{0});
  stop.grace_ms = static_cast<std::uint32_t>(left.count());
  send_to_all(stop);
}

void Stepper::operator()(const HostsChanged&) {
  if (job_.state != JobState::kRunning) return;
  Outcome outcome;
  outcome.cause = Cause::kHostsChanged;
  outcome.exit_status = static_cast<int>(Exit::kTryAgain);
  abandon(std::move(outcome));
}

void Stepper::operator()(const OutputClosed&) {
  if (ending()) return;
  Outcome outcome;
  outcome.cause = Cause::kOutputClosed;
  outcome.exit_status = 128 + SIGPIPE;
  abandon(std::move(outcome));
}

void Stepper::operator()(const Tick&) {
  send_heartbeats();
  watch_silence();
  watch_searches();
  if (job_.options.ending.timeout && now_ >= *job_.options.ending.timeout && !ending()) {
    Outcome outcome;
    outcome.cause = Cause::kTimeout;
    outcome.exit_status = static_cast<int>(Exit::kTimeout);
    abandon(std::move(outcome));
  }
  if (job_.suspect && !ending() && now_ >= job_.blame_until) abandon(*job_.suspect);
  look_at_ranks();
  if (job_.early_end && now_ >= *job_.early_end) tell_who_ended_early();
  if (job_.patience && now_ >= *job_.patience) tell_whom_we_wait_for();
  if (job_.deadline && now_ >= *job_.deadline) deadline_passed();
}

}  // namespace job

const char* state_name(JobState state) {
  switch (state) {
    case JobState::kStarting:
      return "starting";
    case JobState::kPreflight:
      return "preflight";
    case JobState::kPlanning:
      return "planning";
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
  job::Stepper stepper(job, now);
  if (!std::holds_alternative<job::Continued>(event)) stepper.excuse_own_absence();
  std::visit(stepper, event);
  job.last_step = now;
  return std::move(stepper.effects);
}

JobTime next_wakeup(const Job& job) {
  JobTime next = std::min(job.next_heartbeat, job.next_silence);
  if (job.early_end) next = std::min(next, *job.early_end);
  if (job.deadline) next = std::min(next, *job.deadline);
  if (job.suspect && job.state < JobState::kStopping) next = std::min(next, job.blame_until);
  if (job.next_link) next = std::min(next, *job.next_link);
  if (job.options.ending.timeout && job.state < JobState::kStopping) {
    next = std::min(next, *job.options.ending.timeout);
  }
  return next;
}

}  // namespace dtl
