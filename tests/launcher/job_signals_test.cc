#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/launcher/job_fixture.h"

// Which failure comes first, what signals do, and which ranks are reported as ended early.

namespace dtl::job_signals_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(JobTest, GivesWayToTheCauseOfALostConnection) {
  run();
  exit_rank(0, 1, 0, LastWords::kOfAnother);  // noticed first, on another node
  EXPECT_EQ(job_.state, JobState::kRunning);
  pass(100ms);
  exit_rank(3, 7);
  exit_rank(2, 9);  // later still
  EXPECT_EQ(job_.outcome->rank, 3);
  EXPECT_EQ(job_.outcome->exit_status, 7);
}

TEST_F(JobTest, BlamesNobodyForOurOwnSigterm) {
  run();
  exit_rank(0, 1, 0, LastWords::kOfAnother);
  pass(JobTime(kBlameWindow));
  exit_rank(1, 0, SIGTERM);
  exit_rank(2, 128 + SIGTERM);
  exit_rank(3, 1, 0, LastWords::kOfAnother);
  EXPECT_EQ(job_.outcome->rank, 0);
}

TEST_F(JobTest, KeepsTheFirstFailureThatIsNoConsequence) {
  run();
  exit_rank(1, 3);
  exit_rank(0, 0, SIGSEGV);
  EXPECT_EQ(job_.outcome->rank, 1);
}

TEST_F(JobTest, TakesSlurmsWarningForTheOrderToEnd) {
  job_.options.ending.notice_signal = SIGUSR1;
  run();
  EXPECT_THAT(sent<Stop>(feed(job::Signalled{SIGUSR1})), ElementsAre(0, 1));
  EXPECT_EQ(job_.outcome->exit_status, 143);
  pass(3s);
  EXPECT_THAT(sent<Kill>(feed(job::Signalled{SIGUSR1})), IsEmpty());
  EXPECT_THAT(sent<Kill>(feed(job::Signalled{SIGTERM})), IsEmpty()) << "the first that ends it";
  EXPECT_THAT(sent<Kill>(feed(job::Signalled{SIGTERM})), ElementsAre(0, 1));
}

// Slurm's own SIGTERM to each task of a step comes after its warning.
TEST_F(JobTest, TakesSigtermsOfASchedulerForOneAfterANotice) {
  job_.options.one_sigterm = true;
  job_.options.ending.notice_signal = SIGUSR1;
  run();
  feed(job::Signalled{SIGUSR1});
  for (int node = 0; node < 3; ++node) feed(job::Signalled{SIGTERM});
  EXPECT_EQ(job_.outcome->exit_status, 143);
  EXPECT_FALSE(job_.kill_sent) << "ranks have their grace";
}

TEST_F(JobTest, StopsRanksBeforeItselfAndLetsThemGoOn) {
  run();
  const auto stopped = feed(job::Signalled{SIGTSTP});
  EXPECT_THAT(sent<Signal>(stopped), ElementsAre(0, 1));
  EXPECT_EQ(count<job::StopSelf>(stopped), 1);
  now_ += 1h;  // this does not count as a loss
  EXPECT_THAT(sent<Signal>(feed(job::Continued{})), ElementsAre(0, 1));
  pass(2s);
  EXPECT_EQ(job_.state, JobState::kRunning);
}

TEST_F(JobTest, EndsRanksInOrderWhenHostsComeOrGo) {
  run();
  const auto stopped = feed(job::HostsChanged{});
  EXPECT_THAT(sent<Stop>(stopped), ElementsAre(0, 1));
  EXPECT_EQ(job_.state, JobState::kStopping);
  exit_rank(0, 128 + SIGTERM);
  exit_rank(1, 0);
  exit_rank(2, 1, 0, LastWords::kOfAnother);
  exit_rank(3, 0, SIGKILL);
  EXPECT_EQ(job_.outcome->cause, Cause::kHostsChanged) << "whatever the ranks make of it";
  EXPECT_EQ(job_.outcome->rank, -1);
}

TEST_F(JobTest, EndsForGoodWhatWasEndingForOtherHostsSake) {
  run();
  feed(job::HostsChanged{});
  feed(job::Signalled{SIGINT});
  EXPECT_EQ(job_.outcome->cause, Cause::kInterrupted);
  EXPECT_EQ(job_.outcome->exit_status, 130);
  EXPECT_FALSE(job_.kill_sent) << "the first one asks, the second one kills";
  feed(job::Signalled{SIGINT});
  EXPECT_TRUE(job_.kill_sent);
}

// Kubernetes sends SIGTERM to each pod of a job, and each pod tells the first one.
TEST_F(JobTest, TakesSigtermsOfASchedulerForOne) {
  job_.options.one_sigterm = true;
  run();
  feed(job::HostsChanged{});
  feed(job::Signalled{SIGTERM});
  EXPECT_EQ(job_.outcome->cause, Cause::kInterrupted);
  EXPECT_EQ(job_.outcome->exit_status, 143);
  feed(job::Signalled{SIGTERM});
  EXPECT_FALSE(job_.kill_sent) << "ranks have their grace";
  feed(job::Signalled{SIGINT});
  EXPECT_TRUE(job_.kill_sent) << "that is a user's";
}

TEST_F(JobTest, DoesNotEndAJobThatEndsAnywayWhenHostsComeOrGo) {
  feed(job::HostsChanged{});
  EXPECT_EQ(job_.state, JobState::kStarting);
  run();
  feed(job::Signalled{SIGINT});
  feed(job::HostsChanged{});
  EXPECT_EQ(job_.outcome->cause, Cause::kInterrupted);
}

TEST_F(JobTest, DoesNotStopRanksThatAreEnding) {
  run();
  feed(job::Signalled{SIGINT});
  const auto stopped = feed(job::Signalled{SIGTSTP});
  EXPECT_THAT(sent<Signal>(stopped), IsEmpty());
  EXPECT_EQ(count<job::StopSelf>(stopped), 1);
}

TEST_F(JobTest, PassesUserSignalsToRunningRanks) {
  start_agents();
  EXPECT_THAT(sent<Signal>(feed(job::Signalled{SIGUSR1})), IsEmpty());
  plan();
  EXPECT_THAT(sent<Signal>(feed(job::Signalled{SIGUSR2})), ElementsAre(0, 1));
  EXPECT_EQ(job_.state, JobState::kRunning);
}

TEST_F(JobTest, NamesRanksThatEndedWellWhileOthersRunOn) {
  run();
  exit_rank(1, 0);
  exit_rank(2, 0);
  EXPECT_EQ(notices(pass(kEarlyEnd - 1ms)), "");
  EXPECT_THAT(notices(pass(1ms)), HasSubstr("ranks 1-2 ended with status 0 10 s ago; ranks 0,3"));
  EXPECT_EQ(notices(pass(2 * JobTime(kEarlyEnd))), "");
}

}  // namespace
}  // namespace dtl::job_signals_test
