#include "trainer/settings/run_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace dtl::trainer::run_policy_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PolicySettings hundred_steps() {
  PolicySettings p;
  p.total_steps = 100;
  p.steps_per_epoch = 40;
  p.logging_steps = 30;
  return p;
}

std::vector<std::int64_t> steps_with(const PolicySettings& settings, bool Actions::*action) {
  const RunPolicy policy(settings);
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step <= settings.total_steps; ++step) {
    if (policy.after_step(step).*action) steps.push_back(step);
  }
  return steps;
}

TEST(RunPolicy, LogsEverySoManyStepsAndTheLastOne) {
  PolicySettings p = hundred_steps();
  EXPECT_THAT(steps_with(p, &Actions::log), ElementsAre(30, 60, 90, 100));
  p.log_first_step = true;
  EXPECT_THAT(steps_with(p, &Actions::log), ElementsAre(1, 30, 60, 90, 100));
  p.logging = Strategy::kNo;
  EXPECT_THAT(steps_with(p, &Actions::log), ElementsAre());
}

TEST(RunPolicy, TakesTheLastStepForTheEndOfAnEpoch) {
  PolicySettings p = hundred_steps();
  p.evaluation = p.saving = Strategy::kEpoch;
  EXPECT_THAT(steps_with(p, &Actions::evaluate), ElementsAre(40, 80, 100));
  EXPECT_THAT(steps_with(p, &Actions::save), ElementsAre(40, 80, 100));
  EXPECT_THAT(steps_with(p, &Actions::stop), ElementsAre(100));
}

TEST(RunPolicy, EvaluatesAndSavesTheLastStep) {
  PolicySettings p = hundred_steps();
  p.evaluation = p.saving = Strategy::kSteps;
  p.eval_steps = p.save_steps = 35;
  EXPECT_THAT(steps_with(p, &Actions::evaluate), ElementsAre(35, 70, 100));
  EXPECT_THAT(steps_with(p, &Actions::save), ElementsAre(35, 70, 100));
}

TEST(RunPolicy, EvaluatesNothingBeforeItsDelay) {
  PolicySettings p = hundred_steps();
  p.evaluation = Strategy::kSteps;
  p.eval_steps = 20;
  p.eval_delay = 60;
  EXPECT_THAT(steps_with(p, &Actions::evaluate), ElementsAre(60, 80, 100));
  p.evaluation = Strategy::kEpoch;
  p.eval_delay = 2;
  EXPECT_THAT(steps_with(p, &Actions::evaluate), ElementsAre(80, 100));
  p.eval_delay = 2.1;
  EXPECT_THAT(steps_with(p, &Actions::evaluate), ElementsAre(100));
}

TEST(RunPolicy, LeavesTheBestToTheEvaluations) {
  PolicySettings p = hundred_steps();
  p.evaluation = Strategy::kSteps;
  p.saving = Strategy::kBest;
  EXPECT_THAT(steps_with(p, &Actions::save), ElementsAre());
}

TEST(RunPolicy, DoesNothingBetweenWithoutStrategies) {
  EXPECT_THAT(steps_with(hundred_steps(), &Actions::evaluate), ElementsAre());
  EXPECT_THAT(steps_with(hundred_steps(), &Actions::save), ElementsAre());
}

TEST(RunPolicy, TurnsSharesIntoSteps) {
  Settings s;
  s.logging_steps = 0.1;
  s.save_steps = 0.25;
  s.eval_steps = 7;
  const PolicySettings p = policy_settings(s, 345, 115);
  EXPECT_EQ(p.logging_steps, 35);  // ceil(34.5)
  EXPECT_EQ(p.save_steps, 87);     // ceil(86.25)
  EXPECT_EQ(p.eval_steps, 7);
  EXPECT_EQ(policy_settings(Settings{}, 400, 100).logging_steps, 20);
  EXPECT_EQ(policy_settings(Settings{}, 4, 4).logging_steps, 1);
}

RunPolicy judge(bool greater, std::int64_t patience = 0, double threshold = 0) {
  PolicySettings p = hundred_steps();
  p.metric = greater ? "f1" : "loss";
  p.greater_is_better = greater;
  p.patience = patience;
  p.threshold = threshold;
  return RunPolicy(p);
}

TEST(RunPolicy, RemembersTheBestInEitherDirection) {
  RunPolicy low = judge(false), high = judge(true);
  EXPECT_TRUE(low.evaluated(10, {{"loss", 0.5}, {"f1", 0.1}}));
  EXPECT_FALSE(low.evaluated(20, {{"loss", 0.6}, {"f1", 0.9}}));
  EXPECT_FALSE(low.evaluated(30, {{"loss", 0.5}, {"f1", 0.9}}));
  EXPECT_EQ(low.memory().best->step, 10);
  high.evaluated(10, {{"f1", 0.1}});
  EXPECT_TRUE(high.evaluated(20, {{"f1", 0.9}}));
  EXPECT_EQ(high.memory().best->step, 20);
}

TEST(RunPolicy, LoadsTheBestOfWhatWasSaved) {
  RunPolicy policy = judge(false);
  policy.evaluated(10, {{"loss", 0.5}});
  EXPECT_TRUE(policy.saved(10));
  policy.evaluated(20, {{"loss", 0.1}});  // the best, but not saved
  policy.evaluated(30, {{"loss", 0.4}});
  EXPECT_TRUE(policy.saved(30));
  EXPECT_FALSE(policy.saved(40));  // not evaluated
  EXPECT_EQ(policy.memory().best->step, 20);
  EXPECT_EQ(policy.best_saved()->step, 30);
}

TEST(RunPolicy, StopsAfterEvaluationsThatAreNotBetter) {
  RunPolicy policy = judge(false, 2);
  policy.evaluated(10, {{"loss", 0.5}});
  policy.evaluated(20, {{"loss", 0.6}});
  EXPECT_FALSE(policy.out_of_patience());
  policy.evaluated(30, {{"loss", 0.4}});
  policy.evaluated(40, {{"loss", 0.4}});
  EXPECT_FALSE(policy.out_of_patience());
  policy.evaluated(50, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_TRUE(policy.out_of_patience());
  EXPECT_EQ(policy.memory().best->step, 30);
}

TEST(RunPolicy, WantsMoreThanTheThresholdToBePatient) {
  RunPolicy policy = judge(true, 2, 0.05);
  policy.evaluated(10, {{"f1", 0.80}});
  EXPECT_TRUE(policy.evaluated(20, {{"f1", 0.84}}));
  EXPECT_TRUE(policy.evaluated(30, {{"f1", 0.88}}));
  EXPECT_TRUE(policy.out_of_patience());
}

TEST(RunPolicy, NamesTheMetricsThatThereAre) {
  RunPolicy policy = judge(true);
  try {
    policy.evaluated(1, {{"loss", 1.0}, {"accuracy", 1.0}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--metric_for_best_model f1"));
    EXPECT_THAT(error.what(), HasSubstr("loss, accuracy"));
  }
}

TEST(RunPolicy, GoesOnWhereAnotherStopped) {
  RunPolicy first = judge(false, 2), second = judge(false, 2);
  first.evaluated(10, {{"loss", 0.5}});
  first.saved(10);
  first.evaluated(20, {{"loss", 0.6}});
  second.restore(first.memory());
  second.evaluated(30, {{"loss", 0.7}});
  EXPECT_TRUE(second.out_of_patience());
  EXPECT_EQ(second.best_saved()->step, 10);
}

TEST(RunPolicy, KnowsThatNothingIsLeft) {
  PolicySettings p = hundred_steps();
  EXPECT_TRUE(RunPolicy(p).is_over(100, {}));
  EXPECT_FALSE(RunPolicy(p).is_over(99, {}));
  RunPolicy::Memory tired;
  tired.without_better = 3;
  EXPECT_FALSE(RunPolicy(p).is_over(50, tired));
  p.patience = 3;
  EXPECT_TRUE(RunPolicy(p).is_over(50, tired));
}

}  // namespace
}  // namespace dtl::trainer::run_policy_test
