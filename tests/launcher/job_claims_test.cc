#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/job_fixture.h"

namespace dtl::job_claims_test {
namespace {

class JobClaims : public JobTest {};

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(JobClaims, MakesAnotherPlanWhenAnotherJobHasTakenTheCores) {
  plan_without_claims();
  EXPECT_THAT(hear(0, CoresClaimed{true, {}, ""}), IsEmpty());
  EXPECT_EQ(count<job::MakePlan>(hear(1, CoresClaimed{})), 1);
  EXPECT_EQ(job_.state, JobState::kPlanning);
  EXPECT_EQ(count<job::ClaimNodes>(feed(job::Planned{})), 1);
  hear(0, CoresClaimed{});
  EXPECT_EQ(count<job::StartRanks>(hear(1, CoresClaimed{})), 1);
}

TEST_F(JobClaims, GivesUpWhenOtherJobsAreAlwaysFaster) {
  plan_without_claims();
  std::vector<job::Effect> effects;
  for (int round = 1; round <= 8; ++round) {
    ASSERT_EQ(job_.state, JobState::kClaiming) << round;
    hear(0, CoresClaimed{});
    effects = hear(1, CoresClaimed{true, {}, ""});
    if (round < 8) feed(job::Planned{});
  }
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(count<job::StartRanks>(effects), 0);
  EXPECT_THAT(notices(effects), HasSubstr("other jobs took the cores of each of 8 plans first"));
  EXPECT_EQ(job_.outcome->exit_status, 75);
}

TEST_F(JobClaims, TellsOnceOfNodesThatCannotKeepClaimsAndGoesOn) {
  plan_without_claims();
  auto effects = hear(0, CoresClaimed{false, {}, "no sockets"});
  append(effects, hear(1, CoresClaimed{false, {}, "no sockets"}));
  EXPECT_EQ(count<job::Notice>(effects), 1);
  EXPECT_THAT(notices(effects), HasSubstr("cannot see which cores this one has: no sockets"));
  EXPECT_EQ(job_.state, JobState::kRunning);
}

TEST_F(JobClaims, WaitLongerForAnswersThatTakeLong) {
  start_agents();
  const auto usual = job_.deadline;
  ASSERT_TRUE(usual);
  job::Placed placed{{0, 1}, {{0, 1}, {2, 3}}};
  placed.question = Examine{};
  placed.patience = JobTime{60'000};
  feed(placed);
  EXPECT_EQ(*job_.deadline, *usual + JobTime{60'000});
  hear(0, Listening{});
  hear(1, Listening{});
  hear(0, Examined{});
  EXPECT_EQ(count<job::Probe>(hear(1, Examined{})), 1);
}

TEST_F(JobClaims, NamesTheNodeThatDoesNotAnswerAClaim) {
  plan_without_claims();
  hear(0, CoresClaimed{});
  std::vector<job::Effect> effects;
  for (int second = 0; second < 30 && job_.state == JobState::kClaiming; ++second) {
    append(effects, pass(1s));
  }
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->node, 1);
  EXPECT_EQ(job_.outcome->text, "no answer to the claim of its cores");
}

}  // namespace
}  // namespace dtl::job_claims_test
