#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/launcher/job_fixture.h"

// A host, or the whole job, gets a notice that it will be ended.

namespace dtl::job_notice_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobTime grace_sent(const std::vector<job::Effect>& effects) {
  for (const auto& effect : effects) {
    const auto* send = std::get_if<job::Send>(&effect);
    const auto* stop = send == nullptr ? nullptr : std::get_if<Stop>(&send->message);
    if (stop != nullptr) return JobTime(stop->grace_ms);
  }
  return JobTime(-1);
}

TEST_F(JobTest, AsksNoCloudUnlessToldTo) {
  EXPECT_THAT(sent<WatchNotices>(feed(job::AgentReady{0})), IsEmpty());
  job_.options.ending.spot = Cloud::kGcp;
  EXPECT_THAT(sent<WatchNotices>(feed(job::AgentReady{1})), ElementsAre(1));
}

TEST_F(JobTest, StopsAllRanksAtOnceWhenOneHostHasToGo) {
  run();
  const auto stopped = hear(1, Leaving{"aws: terminate", 120'000});
  EXPECT_THAT(sent<Stop>(stopped), ElementsAre(0, 1));
  EXPECT_EQ(grace_sent(stopped), JobTime(kKillGrace));
  EXPECT_THAT(notices(stopped), HasSubstr("has to go in 120 s (aws: terminate): stopping the"));
  for (std::uint32_t rank = 0; rank < 4; ++rank) exit_rank(rank, 128 + SIGTERM);
  EXPECT_EQ(job_.outcome->cause, Cause::kNotice);
  EXPECT_EQ(job_.outcome->node, 1);
  EXPECT_EQ(job_.outcome->exit_status, 143);
  EXPECT_TRUE(job_.nodes[1].told_to_go);
  EXPECT_FALSE(job_.nodes[0].told_to_go);
}

TEST_F(JobTest, RanksHaveNoMoreTimeThanTheHostAndLeaveItsAgentSome) {
  job_.options.ending.grace = 60s;
  run();
  EXPECT_EQ(grace_sent(hear(0, Leaving{"gcp: preempted", 30'000})), JobTime(28s));
  const auto sooner = hear(1, Leaving{"gcp: preempted", 10'000});  // the other host, with less time
  EXPECT_THAT(sent<Stop>(sooner), ElementsAre(0, 1));
  EXPECT_EQ(grace_sent(sooner), JobTime(8s));
  EXPECT_TRUE(job_.nodes[1].told_to_go);
  EXPECT_EQ(job_.outcome->node, 0) << "the first one";
  EXPECT_THAT(sent<Stop>(hear(1, Leaving{"gcp: preempted", 1'000})), IsEmpty()) << "told already";
}

TEST_F(JobTest, AHostThatGoesAtOnceLeavesNothingToWaitFor) {
  run();
  EXPECT_EQ(grace_sent(hear(0, Leaving{"azure: Preempt", 0})), JobTime(0));
}

TEST_F(JobTest, ANoticeBeforeTheRanksRunEndsTheStart) {
  start_agents();
  hear(0, Leaving{"aws: stop", 100'000});
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->cause, Cause::kNotice);
}

TEST_F(JobTest, ASignalIsANoticeWhereThatIsAgreed) {
  job_.options.ending.notice_signal = SIGUSR1;
  run();
  EXPECT_THAT(sent<Signal>(feed(job::Signalled{SIGUSR2})), ElementsAre(0, 1));
  const auto stopped = feed(job::Signalled{SIGUSR1});
  EXPECT_THAT(sent<Stop>(stopped), ElementsAre(0, 1));
  EXPECT_THAT(sent<Signal>(stopped), IsEmpty());
  EXPECT_THAT(sent<Stop>(feed(job::Signalled{SIGUSR1})), IsEmpty()) << "once";
  EXPECT_EQ(job_.outcome->cause, Cause::kNotice);
  EXPECT_EQ(job_.outcome->node, -1);
  EXPECT_EQ(job_.outcome->exit_status, 143);
}

TEST_F(JobTest, SlurmsOwnSigtermAfterItsNoticeDoesNotKillACheckpoint) {
  job_.options.ending.notice_signal = SIGUSR1;
  run();
  feed(job::Signalled{SIGUSR1});
  EXPECT_THAT(sent<Kill>(feed(job::Signalled{SIGTERM})), IsEmpty());
  EXPECT_EQ(job_.outcome->exit_status, 143);
  EXPECT_EQ(job_.outcome->cause, Cause::kInterrupted) << "and it does not go on elsewhere";
  EXPECT_THAT(sent<Kill>(feed(job::Signalled{SIGTERM})), ElementsAre(0, 1));
}

TEST_F(JobTest, AHostIsToldToGoByItsSchedulerWhenNobodySaysWhen) {
  run();
  const auto stopped = feed(job::ToldToGo{0, "pytorchjob ends it"});
  EXPECT_EQ(grace_sent(stopped), JobTime(kKillGrace));
  EXPECT_THAT(notices(stopped), HasSubstr("has to go (pytorchjob ends it)"));
  EXPECT_FALSE(job_.nodes[0].goes);
}

TEST(NoticeCard, SaysWhoTold) {
  Outcome outcome;
  outcome.cause = Cause::kNotice;
  outcome.node = 1;
  outcome.text = "aws: terminate";
  CardFacts facts;
  facts.host = "n2";
  facts.seconds = 12.34;
  EXPECT_EQ(failure_card(outcome, facts, 80),
            "n2 has to go (aws: terminate), and the ranks were stopped after 12.3 s");
  outcome.node = -1;
  outcome.text = "SIGUSR1";
  EXPECT_EQ(failure_card(outcome, facts, 80),
            "the job's time was nearly over (SIGUSR1), and it was stopped after 12.3 s");
}

}  // namespace
}  // namespace dtl::job_notice_test
