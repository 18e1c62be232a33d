#include "agent/guard/guard_state.h"

#include <gtest/gtest.h>

namespace dtl::guard_state_test {
namespace {

TEST(GuardState, ServesUntilItIsToldToKill) {
  EXPECT_EQ(guard_step(GuardState::kServing, GuardEvent::kSpawnRequest).action,
            GuardAction::kSpawn);
  const GuardStep killed = guard_step(GuardState::kServing, GuardEvent::kKillRequest);
  EXPECT_EQ(killed.action, GuardAction::kEndAndTell);
  EXPECT_EQ(guard_step(killed.state, GuardEvent::kSpawnRequest).action, GuardAction::kRefuse);
}

TEST(GuardState, EndsEverythingAndExitsWhenOrphanedInAnyState) {
  for (const GuardState state : {GuardState::kServing, GuardState::kEnded}) {
    EXPECT_EQ(guard_step(state, GuardEvent::kOrphaned).action, GuardAction::kEndAndExit);
  }
}

}  // namespace
}  // namespace dtl::guard_state_test
