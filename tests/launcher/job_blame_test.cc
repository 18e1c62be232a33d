#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/launcher/job_fixture.h"

// Which failure the job reports as its cause, if there are several.

namespace dtl::job_blame_test {
namespace {

using testing::HasSubstr;

TEST_F(JobTest, DoesNotBlameTheNodesForItsOwnAbsence) {
  run();
  now_ += 9s;
  const auto effects = feed(job::Tick{});
  EXPECT_EQ(job_.state, JobState::kRunning);
  EXPECT_THAT(notices(effects), HasSubstr("was stopped for 9 s"));
}

TEST_F(JobTest, CountsTheLeasesOfItsAbsenceFromTheLastHeartbeat) {
  run();
  now_ += 9500ms;
  feed(job::Tick{});
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kStoppedSelf);
}

TEST_F(JobTest, SaysThatItWasStoppedItselfWhenTheNodesHaveEndedTheJob) {
  run();
  now_ += 14s;
  exit_rank(0, 0, SIGTERM);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kStoppedSelf);
  EXPECT_EQ(job_.outcome->exit_status, 75);
  EXPECT_EQ(failure_card(*job_.outcome, {}, 80),
            "dtlaunch itself was stopped for 14 s; the hosts end a job after 10 s without it");
  now_ += 4s;  // once more, and shorter
  EXPECT_THAT(notices(feed(job::Tick{})), HasSubstr("was stopped for 4 s"));
  EXPECT_EQ(notices(feed(job::AgentLost{1, Cause::kAgentFailed, 69, "exit status 69"})), "");
}

TEST_F(JobTest, BlamesNoHostThatWasBeingStartedWhenItWasStoppedItself) {
  feed(job::AgentReady{0});
  now_ += 12s;
  feed(job::AgentFailed{1, Exit::kOs});
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kStoppedSelf);
}

TEST_F(JobTest, EndsAfterALongPauseByTheUserBeforeItsRanksRun) {
  start_agents();
  feed(job::Signalled{SIGTSTP});
  now_ += 8s;
  feed(job::Continued{});
  EXPECT_FALSE(job_.outcome.has_value());
  feed(job::Signalled{SIGTSTP});
  now_ += 60s;
  feed(job::Continued{});
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kStoppedSelf);
}

TEST_F(JobTest, OutlivesAPauseByTheUser) {
  run();
  feed(job::Signalled{SIGTSTP});
  now_ += 60s;
  EXPECT_EQ(notices(feed(job::Continued{})), "");
  EXPECT_EQ(job_.state, JobState::kRunning);
}

TEST_F(JobTest, BlamesADeadAgentForWhatItsEndDidToRanksElsewhere) {
  run();
  exit_rank(2, 69, 0, LastWords::kOfAnother);  // it lost its connection to rank 0
  EXPECT_EQ(job_.state, JobState::kRunning);
  now_ += 5ms;
  const auto effects = feed(job::AgentLost{0, Cause::kAgentFailed, 71, "killed by SIGKILL"});
  EXPECT_EQ(notices(effects), "");
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(job_.outcome->node, 0);
  EXPECT_EQ(job_.outcome->rank, -1);
  EXPECT_EQ(job_.outcome->exit_status, 71);
}

TEST_F(JobTest, BlamesADeadAgentAlsoAfterTheUserHasHurried) {
  run();
  exit_rank(2, 69, 0, LastWords::kOfAnother);
  feed(job::Signalled{SIGTERM});
  EXPECT_EQ(job_.outcome->rank, 2) << "it had failed before";
  feed(job::AgentLost{0, Cause::kAgentFailed, 71, "killed by SIGKILL"});
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
}

// Its ranks' death is visible at once; the node's own only by its silence.
TEST_F(JobTest, BlamesASilentNodeForWhatItsEndDidToRanksElsewhere) {
  run();
  exit_rank(2, 69, 0, LastWords::kOfAnother);
  pass(kDead, {1});
  EXPECT_EQ(job_.outcome->cause, Cause::kNodeLost);
  EXPECT_EQ(job_.outcome->node, 0);
}

// A stopped guard may take longer than the blame window to be noticed.
TEST_F(JobTest, BlamesAnAgentThatGivesUpLongAfterWhatItDidToRanksElsewhere) {
  run();
  exit_rank(2, 69, 0, LastWords::kOfAnother);
  pass(kBlameWindow + 1s);
  hear(0, Trouble{"dtguard does not answer"});
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(job_.outcome->node, 0);
}

TEST_F(JobTest, BlamesNoRankLongAfterAConsequence) {
  run();
  exit_rank(2, 69, 0, LastWords::kOfAnother);
  pass(kBlameWindow + 1s);
  exit_rank(0, 3);
  EXPECT_EQ(job_.outcome->rank, 2);
}

// An early SIGTERM would kill the rank before it can say why it failed.
TEST_F(JobTest, LetsARankSayWhyAfterItsFollowersHaveEnded) {
  run();
  exit_rank(1, 68, 0, LastWords::kNone);
  exit_rank(3, 68, 0, LastWords::kNone);
  EXPECT_TRUE(sent<Stop>(pass(kBlameWindow - 100ms)).empty());
  EXPECT_EQ(sent<Stop>(exit_rank(0, 65)).size(), 2U);
  EXPECT_EQ(job_.outcome->rank, 0);
  EXPECT_EQ(job_.outcome->exit_status, 65);
  EXPECT_TRUE(job_.ranks[1].consequence && job_.ranks[3].consequence);
}

TEST_F(JobTest, EndsSoonAfterAConsequenceWhoseCauseStaysUnknown) {
  run();
  exit_rank(3, 68, 0, LastWords::kNone);
  EXPECT_EQ(sent<Stop>(pass(JobTime(kBlameWindow))).size(), 2U);
  EXPECT_EQ(job_.outcome->rank, 3);
}

TEST_F(JobTest, BlamesTheFirstOfRanksThatHaveAllFailedForAnother) {
  run();
  for (const std::uint32_t rank : {2U, 0U, 1U, 3U}) {
    exit_rank(rank, 69, 0, LastWords::kOfAnother);
  }
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->rank, 2);
  EXPECT_EQ(job_.outcome->exit_status, 69);
}

TEST_F(JobTest, TakesTheStatusOfFollowersForTheProgramsOwnIfItSaysWhy) {
  run();
  exit_rank(1, 68);
  EXPECT_EQ(job_.state, JobState::kStopping);
  EXPECT_FALSE(job_.ranks[1].consequence);
}

TEST_F(JobTest, PrefersARankWithAnErrorTextToOneWithout) {
  run();
  exit_rank(1, 1, 0, LastWords::kNone);
  pass(JobTime(kSilentWindow) / 2);
  exit_rank(0, 3);
  EXPECT_EQ(job_.outcome->rank, 0);
}

TEST_F(JobTest, WaitsNotLongForATextAndNotForARankThatWasKilled) {
  run();
  exit_rank(1, 1, 0, LastWords::kNone);
  pass(JobTime(kSilentWindow));
  EXPECT_EQ(job_.outcome->rank, 1);

  job_ = make_job(2, {});
  now_ = JobTime(0);
  run();
  exit_rank(1, 0, SIGSEGV, LastWords::kNone);
  EXPECT_EQ(job_.outcome->rank, 1);
}

TEST_F(JobTest, PrefersARankWithoutATextToAConsequence) {
  run();
  exit_rank(2, 69, 0, LastWords::kOfAnother);
  exit_rank(0, 1, 0, LastWords::kNone);
  exit_rank(3, 69, 0, LastWords::kOfAnother);
  pass(JobTime(kSilentWindow));
  EXPECT_EQ(job_.outcome->rank, 0);
}

TEST_F(JobTest, TakesWhatTorchHasKeptOfAnErrorForItsText) {
  run();
  hear(0, Evidence{1, 0, 0, R"({"message": "no"})"});
  exit_rank(1, 1, 0, LastWords::kNone);
  EXPECT_EQ(job_.state, JobState::kStopping);
}

TEST_F(JobTest, BlamesNoAgentThatDiesAfterAFailureOfItsOwn) {
  run();
  exit_rank(2, 3);
  const auto effects = feed(job::AgentLost{0, Cause::kAgentFailed, 71, "killed by SIGKILL"});
  EXPECT_THAT(notices(effects), HasSubstr("lost while it was ending the job"));
  EXPECT_EQ(job_.outcome->rank, 2);
}

}  // namespace
}  // namespace dtl::job_blame_test
