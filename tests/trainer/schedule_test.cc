#include "trainer/step/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dtl::trainer::schedule_test {
namespace {

TEST(Schedule, HasHuggingFacesNames) {
  EXPECT_EQ(schedule_named("linear"), Schedule::kLinear);
  EXPECT_EQ(schedule_named("cosine"), Schedule::kCosine);
  EXPECT_EQ(schedule_named("constant"), Schedule::kConstant);
  EXPECT_EQ(schedule_named("constant_with_warmup"), Schedule::kConstantWithWarmup);
  EXPECT_EQ(schedule_named("polynomial"), Schedule::kPolynomial);
  EXPECT_EQ(schedule_named("greedy"), std::nullopt);
  EXPECT_STREQ(schedule_name(Schedule::kConstantWithWarmup), "constant_with_warmup");
}

TEST(LinearSchedule, RisesOverTheWarmupAndFallsToZero) {
  const auto factor = [](std::int64_t step) {
    return schedule_factor(Schedule::kLinear, step, 2, 10);
  };
  EXPECT_DOUBLE_EQ(factor(0), 0.0);
  EXPECT_DOUBLE_EQ(factor(1), 0.5);
  EXPECT_DOUBLE_EQ(factor(2), 1.0);
  EXPECT_DOUBLE_EQ(factor(9), 1.0 / 8);
  EXPECT_DOUBLE_EQ(factor(10), 0.0);
  EXPECT_DOUBLE_EQ(factor(12), 0.0);
}

TEST(LinearSchedule, StartsAtTheTopWithoutWarmup) {
  EXPECT_DOUBLE_EQ(schedule_factor(Schedule::kLinear, 0, 0, 4), 1.0);
  EXPECT_DOUBLE_EQ(schedule_factor(Schedule::kLinear, 3, 0, 4), 0.25);
}

TEST(CosineSchedule, RisesOverTheWarmupAndFallsAsHalfACosine) {
  const auto factor = [](std::int64_t step) {
    return schedule_factor(Schedule::kCosine, step, 4, 16);
  };
  EXPECT_DOUBLE_EQ(factor(3), 0.75);
  EXPECT_DOUBLE_EQ(factor(4), 1.0);
  EXPECT_DOUBLE_EQ(factor(7), (1 + std::sqrt(0.5)) / 2);  // a quarter of the way
  EXPECT_DOUBLE_EQ(factor(10), 0.5);
  EXPECT_NEAR(factor(16), 0.0, 1e-16);
}

// state_parity.py compares all steps with transformers; these are by hand.
TEST(StableDecaySchedule, StaysAtTheTopBetweenWarmupAndDecay) {
  ScheduleShape shape;
  shape.decay_steps = 4;
  shape.decay_curve = Curve::kLinear;
  shape.least_rate = 0.2;
  const auto factor = [&](std::int64_t step) {
    return schedule_factor(Schedule::kWarmupStableDecay, step, 2, 12, shape);
  };
  EXPECT_DOUBLE_EQ(factor(1), 0.6);
  EXPECT_DOUBLE_EQ(factor(7), 1.0);
  EXPECT_DOUBLE_EQ(factor(10), 0.6);
  EXPECT_DOUBLE_EQ(factor(12), 0.2);
}

TEST(RestartingSchedule, RisesToTheTopAtEachRestart) {
  ScheduleShape shape;
  shape.cycles = 3;
  EXPECT_DOUBLE_EQ(schedule_factor(Schedule::kCosineWithRestarts, 4, 0, 12, shape), 1.0);
  EXPECT_NEAR(schedule_factor(Schedule::kCosineWithRestarts, 6, 0, 12, shape), 0.5, 1e-15);
  EXPECT_DOUBLE_EQ(schedule_factor(Schedule::kCosineWithRestarts, 12, 0, 12, shape), 0.0);
}

TEST(ConstantSchedules, DifferInTheWarmupOnly) {
  for (const std::int64_t step : {0, 1, 4, 10, 100}) {
    EXPECT_DOUBLE_EQ(schedule_factor(Schedule::kConstant, step, 4, 10), 1.0);
    EXPECT_DOUBLE_EQ(schedule_factor(Schedule::kConstantWithWarmup, step, 4, 10),
                     step < 4 ? static_cast<double>(step) / 4 : 1.0);
  }
}

}  // namespace
}  // namespace dtl::trainer::schedule_test
