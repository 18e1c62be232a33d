#pragma once
// The guard's logic as one table: its action for each event in each state, one row per state. Pure,
// so a test covers every cell: a guard that misses one leaves processes behind.

namespace dtl {

enum class GuardState {
  kServing,  // starts and watches ranks
  kEnded,    // everything has been killed; starts nothing more
};

enum class GuardEvent {
  kSpawnRequest,
  kSignalRequest,
  kKillRequest,
  kOrphaned,  // the agent is gone: end of its link, no tick for kGuardLease, or a signal to us
};

enum class GuardAction {
  kSpawn,
  kRefuse,  // answer kSpawnFailed
  kSignal,
  kEndAndTell,  // kill until nothing is left, answer kClean
  kEndAndExit,
  kNothing,
};

struct GuardStep {
  GuardState state;
  GuardAction action;
};

constexpr GuardStep guard_step(GuardState state, GuardEvent event) {
  using S = GuardState;
  using A = GuardAction;
  // clang-format off
  constexpr GuardStep kTable[2][4] = {
      // kSpawnRequest           kSignalRequest            kKillRequest                kOrphaned
      {{S::kServing, A::kSpawn}, {S::kServing, A::kSignal}, {S::kEnded, A::kEndAndTell}, {S::kEnded, A::kEndAndExit}},
      {{S::kEnded, A::kRefuse}, {S::kEnded, A::kNothing}, {S::kEnded, A::kEndAndTell}, {S::kEnded, A::kEndAndExit}},
  };
  // clang-format on
  return kTable[static_cast<int>(state)][static_cast<int>(event)];
}

}  // namespace dtl
