// Each event changes fields and gives cues; the table maps state and cue to the next state.
// settle() then acts on the new state, whatever the event was. Every waiting state has its deadline
// in due(), so the agent always ends.
#include "agent/job/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent/guard/spawn_spec.h"
#include "base/limits.h"
#include "base/text.h"

namespace dtl {
namespace {

enum class Cue {
  kAsk,    // told to ask for stacks, then to stop
  kStop,   // told to stop, or by its own decision
  kKill,   // end the wait: told to, the grace is over, or no rank is left
  kClean,  // the guard reports that nothing is left
  kGuardGone,
  kDone,  // Finish was answered, or nobody is left to answer
};

// No cue leads back: an ending cannot be undone.
AgentState next_state(AgentState state, Cue cue) {
  using S = AgentState;
  constexpr S kTable[6][6] = {
      // kAsk        kStop         kKill        kClean        kGuardGone  kDone
      {S::kAsking, S::kStopping, S::kKilling, S::kServing, S::kGone, S::kServing},      // kServing
      {S::kAsking, S::kStopping, S::kKilling, S::kAsking, S::kGone, S::kAsking},        // kAsking
      {S::kStopping, S::kStopping, S::kKilling, S::kStopping, S::kGone, S::kStopping},  // kStopping
      {S::kKilling, S::kKilling, S::kKilling, S::kClean, S::kGone, S::kKilling},        // kKilling
      {S::kClean, S::kClean, S::kClean, S::kClean, S::kGone, S::kGone},                 // kClean
      {S::kGone, S::kGone, S::kGone, S::kGone, S::kGone, S::kGone},                     // kGone
  };
  return kTable[static_cast<int>(state)][static_cast<int>(cue)];
}

// If ^Z stopped the launcher, it sends nothing, as the user wants.
BootTime lease(const Supervisor& supervisor) {
  return (supervisor.paused ? BootTime(kPauseLease) : BootTime(kLease)) + supervisor.patience;
}

// One step: collects the effects of one event.
class Step {
 public:
  Step(Supervisor& supervisor, BootTime now) : s_(supervisor), now_(now) {}

  std::vector<Effect> take(const Event& event) {
    std::visit([this](const auto& e) { on(e); }, event);
    settle();
    return std::move(effects_);
  }

 private:
  void on(const Start& start);
  void on(const Stop& stop);
  void on(const Kill&) { cue(Cue::kKill); }
  void on(const Signal& signal);
  void on(const Finish&);
  void on(const Reconnect& agreed) { s_.patience = BootTime(agreed.patience_ms); }
  void on(const WatchRanks& watch);
  void on(const LauncherHeard&) { s_.heard = now_; }
  // After Finish it may hang up; then nobody receives the answer, which is not an error.
  void on(const LauncherGone&) {
    if (!s_.finish_wanted) leave(s_.ranks.empty() ? Exit::kOk : Exit::kUnreachable);
  }
  void on(const Terminated& terminated);
  void on(const GuardReport& report);
  void on(const GuardGone&);
  void on(const KeeperGone& keeper);
  void on(const PmixGone& gone);
  void on(const GuardSilent& guard);
  void on(const OutputEnded& ended);
  void on(const RanksAnswered&);
  void on(const TimePassed&);

  void lose_guard(const std::string& how);
  void cue(Cue cue);
  void stop_ranks(int signal, BootTime grace);
  bool any_running() const;
  void leave(Exit status);
  void tell_exits();
  void settle();
  void send(const Message& message) { effects_.push_back(SendMessage{message}); }

  Supervisor& s_;
  BootTime now_;
  std::vector<Effect> effects_;
};

// The only place that changes the state.
void Step::cue(Cue cue) {
  const AgentState before = s_.state;
  s_.state = next_state(before, cue);
  // Permanent: a rank that started now would miss the signal that ends the others.
  s_.stopped = s_.stopped || cue != Cue::kClean;
  if (s_.state == before) return;
  // Ending ranks includes SIGCONT, and the long lease of ^Z is over.
  s_.paused = false;
  if (s_.state == AgentState::kKilling) effects_.push_back(KillByGuard{});
  if (s_.state == AgentState::kClean) s_.finish_by = now_ + kDrainDeadline;
}

void Step::on(const Start& start) {
  for (const RankSpec& spec : start.ranks) {
    if (s_.stopped || s_.ranks.contains(spec.rank)) {
      send(SpawnFailed{spec.rank, s_.stopped ? "stopped" : "guard",
                       static_cast<std::uint32_t>(s_.stopped ? ECANCELED : EEXIST), ""});
      continue;
    }
    s_.ranks[spec.rank] = WatchedRank{};
    effects_.push_back(SpawnRank{start.secret, spec});
  }
}

void Step::on(const Stop& stop) {
  if (stop.ask_ms == 0 || s_.state != AgentState::kServing || !any_running()) {
    // No rank to ask, or no time: a second Stop also ends the asking.
    return stop_ranks(static_cast<int>(stop.signal), BootTime(stop.grace_ms));
  }
  cue(Cue::kAsk);
  s_.after_asking = stop;
  // RanksAnswered comes earlier, unless the asking itself hangs.
  s_.asking_ends = now_ + BootTime(stop.ask_ms) + BootTime(s_.native_ms) + kHeartbeat;
  effects_.push_back(AskRanks{stop.ask_ms, s_.native_ms});
}

void Step::on(const RanksAnswered&) {
  if (s_.state != AgentState::kAsking) return;
  stop_ranks(static_cast<int>(s_.after_asking.signal), BootTime(s_.after_asking.grace_ms));
}

void Step::on(const Signal& signal) {
  // A SIGSTOP now would keep the ranks from ending.
  if (s_.state != AgentState::kServing) return;
  if (signal.signal == SIGSTOP) s_.paused = true;
  if (signal.signal == SIGCONT) s_.paused = false;
  effects_.push_back(PassSignal{static_cast<int>(signal.signal)});
}

void Step::on(const WatchRanks& watch) {
  s_.native_ms = watch.native_ms;
  // Does not watch ending ranks for hangs.
  effects_.push_back(ReportRanks{s_.state == AgentState::kServing ? watch.period_ms : 0});
}

// Kills whatever still runs: for an orderly end the launcher sends Stop first.
void Step::on(const Finish&) {
  s_.finish_wanted = true;
  cue(Cue::kKill);
}

void Step::on(const Terminated& terminated) {
  // The ranks still get their grace: a signal to the agent asks for an orderly end.
  send(Trouble{fmt::format("dtagent was ended by {}", signal_name(terminated.signal))});
  leave(Exit::kOs);
}

void Step::on(const KeeperGone& keeper) {
  // It is leaving already; whoever ended us may have ended the keeper too.
  if (s_.leave) return;
  send(Trouble{fmt::format("its job-keeper (process {}) was killed", keeper.process)});
  leave(Exit::kOs);
}

void Step::on(const PmixGone& gone) {
  if (s_.leave) return;
  send(Trouble{gone.why});
  leave(Exit::kOs);
}

void Step::leave(Exit status) {
  // The first reason to leave decides the exit status.
  if (!s_.leave) s_.leave = status;
  stop_ranks(SIGTERM, kKillGrace);
}

void Step::stop_ranks(int signal, BootTime grace) {
  const bool again = s_.state == AgentState::kStopping;
  cue(Cue::kStop);
  if (s_.state != AgentState::kStopping) return;
  effects_.push_back(SignalRanks{signal, grace});
  // Another Stop may shorten the grace, but not lengthen it.
  const BootTime ends = now_ + grace;
  s_.grace_ends = again ? std::min(s_.grace_ends, ends) : ends;
}

void Step::on(const GuardReport& report) {
  const auto at = s_.ranks.find(report.rank);
  switch (report.news) {
    case GuardNews::kStarted:
      if (at != s_.ranks.end()) at->second.started = true;
      send(Started{report.rank, report.pid});
      break;
    case GuardNews::kSpawnFailed:
      // Nothing is running, so do not wait for an exit.
      if (at != s_.ranks.end()) s_.ranks.erase(at);
      send(SpawnFailed{
          report.rank,
          // The guard refuses requests this way after kKill.
          s_.stopped && report.error_number == ECANCELED ? "stopped" : stage_name(report.stage),
          report.error_number, ""});
      break;
    case GuardNews::kExited:
      if (at == s_.ranks.end()) break;
      // Not sent yet: settle() waits for the rank's last output, for kDrainDeadline at most.
      at->second.exited =
          Exited{report.rank, report.code, report.signal, report.max_rss_kib, report.left_behind};
      at->second.tell_by = now_ + kDrainDeadline;
      break;
    case GuardNews::kAlive:
      break;
    case GuardNews::kClean:
      // For Finish, which may come much later.
      s_.finished = {report.killed, report.unkillable};
      cue(Cue::kClean);
      break;
  }
}

void Step::on(const GuardGone&) {
  lose_guard("dtguard died");
}

void Step::on(const GuardSilent& guard) {
  lose_guard(guard.stopped ? fmt::format("dtguard (process {}) is stopped (state T)", guard.process)
                           : fmt::format("dtguard (process {}) does not answer", guard.process));
}

void Step::lose_guard(const std::string& how) {
  // The guard exits normally when the agent closes its link.
  if (s_.state == AgentState::kGone) return;
  cue(Cue::kGuardGone);
  send(Trouble{how + "; every process of this node's ranks is being killed"});
  // The kernel kills the ranks with their guard; their children are now ours.
  effects_.push_back(KillByOwnHand{});
  effects_.push_back(ExitAgent{Exit::kOs});
}

void Step::on(const OutputEnded& ended) {
  const auto at = s_.ranks.find(ended.rank);
  // settle() sends the exit if it only waited for this.
  if (at != s_.ranks.end()) at->second.output_ended = true;
}

void Step::on(const TimePassed&) {
  if (is_launcher_silent(s_, now_)) leave(Exit::kUnreachable);
  if (now_ >= s_.asking_ends) on(RanksAnswered{});
  if (s_.state == AgentState::kStopping && now_ >= s_.grace_ends) cue(Cue::kKill);
}

// A rank whose exit waits for its output is not running.
bool Step::any_running() const {
  return std::any_of(s_.ranks.begin(), s_.ranks.end(),
                     [](const auto& rank) { return !rank.second.exited; });
}

void Step::tell_exits() {
  for (auto at = s_.ranks.begin(); at != s_.ranks.end();) {
    const WatchedRank& rank = at->second;
    if (rank.exited && (rank.output_ended || now_ >= rank.tell_by)) {
      send(*rank.exited);
      at = s_.ranks.erase(at);
    } else {
      ++at;
    }
  }
}

// Acts on the state after an event.
void Step::settle() {
  tell_exits();
  const bool ending = s_.state == AgentState::kAsking || s_.state == AgentState::kStopping;
  if (ending && !any_running()) {
    cue(Cue::kKill);  // kills the ranks' leftovers, if any
  }
  if (s_.state != AgentState::kClean) return;
  // Checked before Finish: a lost launcher cannot receive the answer.
  if (s_.leave) {
    cue(Cue::kDone);
    effects_.push_back(ExitAgent{*s_.leave});
  } else if (s_.finish_wanted && (s_.ranks.empty() || now_ >= s_.finish_by)) {
    cue(Cue::kDone);
    send(s_.finished);
    effects_.push_back(ExitAgent{Exit::kOk});
  }
}

}  // namespace

std::vector<Effect> step(Supervisor& supervisor, const Event& event, BootTime now) {
  if (supervisor.state == AgentState::kGone) return {};
  return Step(supervisor, now).take(event);
}

bool is_launcher_silent(const Supervisor& supervisor, BootTime now) {
  return !supervisor.leave && now >= supervisor.heard + lease(supervisor);
}

BootTime guard_patience(const Supervisor& supervisor) {
  // While killing, the guard answers nothing.
  if (supervisor.state == AgentState::kKilling) return kReapDeadline + kAnswerMargin;
  return kGuardSilence + static_cast<int>(supervisor.ranks.size()) * kGuardPerRank;
}

BootTime due(const Supervisor& supervisor) {
  BootTime due = supervisor.leave ? BootTime::max() : supervisor.heard + lease(supervisor);
  if (supervisor.state == AgentState::kAsking) due = std::min(due, supervisor.asking_ends);
  if (supervisor.state == AgentState::kStopping) due = std::min(due, supervisor.grace_ends);
  if (supervisor.state == AgentState::kClean && supervisor.finish_wanted) {
    due = std::min(due, supervisor.finish_by);
  }
  for (const auto& [rank, state] : supervisor.ranks) {
    if (state.exited) due = std::min(due, state.tell_by);
  }
  return due;
}

}  // namespace dtl
