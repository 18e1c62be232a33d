// A silent agent on the launcher's own machine: the launcher can check whether it runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job_fixture.h"

namespace dtl {
namespace {

using ::testing::HasSubstr;

class JobSilence : public JobTest {
 protected:
  enum class Seen { kGone, kStopped, kRuns };

  // Node 0 is local and silent. Answers every check of it with `seen`.
  std::vector<job::Effect> wait(JobTime span, Seen seen) {
    std::vector<job::Effect> all;
    for (const JobTime end = now_ + span; now_ < end;) {
      auto effects = pass(100ms, {1});
      const int looks = count<job::LookAtAgent>(effects);
      looks_ += looks;
      append(all, std::move(effects));
      if (looks > 0)
        append(all,
               feed(job::AgentSeen{0, seen == Seen::kGone ? 0 : 4711, seen == Seen::kStopped}));
    }
    return all;
  }

  void run_here() {
    feed(job::AgentReady{0, false, true});
    feed(job::AgentReady{1});
    plan();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      hear(static_cast<int>(rank / 2), Started{rank, 100 + rank});
    }
  }

  int looks_ = 0;
};

TEST_F(JobSilence, OfAnAgentThatCanRunEndsNothing) {
  run_here();
  const auto effects = wait(10min, Seen::kRuns);
  EXPECT_EQ(job_.state, JobState::kRunning);
  EXPECT_EQ(count<job::Notice>(effects), 2);
  EXPECT_THAT(notices(effects), HasSubstr("no sign of life for 3 s; it is waited for while its "
                                          "process can run"));
  EXPECT_THAT(notices(effects),
              HasSubstr("dtagent (process 4711) runs, but had no time for 9 s; it is waited for"));
  EXPECT_GT(looks_, 60);  // at most once per second
  EXPECT_LE(looks_, 600);
  hear(0, Heartbeat{});
  EXPECT_THAT(notices(wait(10s, Seen::kRuns)), HasSubstr("no sign of life for 3 s"));
}

TEST_F(JobSilence, OfAStoppedAgentEndsTheJobAfterTheLease) {
  run_here();
  const auto said = wait(kDead + 500ms, Seen::kStopped);
  EXPECT_THAT(notices(said), HasSubstr("dtagent (process 4711) is stopped (state T); the job ends "
                                       "unless it goes on within 1 s: kill -CONT 4711"));
  EXPECT_EQ(job_.state, JobState::kRunning);
  const auto effects = wait(1s, Seen::kStopped);
  EXPECT_EQ(count<job::KillAgent>(effects), 1);
  ASSERT_TRUE(job_.outcome);
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(job_.outcome->exit_status, 71);
  EXPECT_THAT(job_.outcome->text, HasSubstr("dtagent (process 4711) was stopped for 10 s"));
}

TEST_F(JobSilence, OfAnAgentWithoutAProcessEndsTheJob) {
  run_here();
  wait(kDead + 500ms, Seen::kGone);
  ASSERT_TRUE(job_.outcome);
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
}

TEST_F(JobSilence, OfTheLauncherItselfIsNotTheEndOfAnAgentHere) {
  feed(job::AgentReady{0, false, true});
  feed(job::AgentReady{1, false, true});
  plan();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    hear(static_cast<int>(rank / 2), Started{rank, 100 + rank});
  }
  now_ += 30s;
  feed(job::Tick{});
  EXPECT_EQ(job_.state, JobState::kRunning);
  EXPECT_FALSE(job_.outcome);
}

TEST_F(JobSilence, OfTheLauncherItselfIsWhyAnAgentHereHasLeft) {
  run_here();
  job_.nodes[1].here = true;
  now_ += 30s;
  feed(job::Tick{});
  feed(job::AgentLost{0, Cause::kAgentFailed, 71, "exit status 69"});
  ASSERT_TRUE(job_.outcome);
  EXPECT_EQ(job_.outcome->cause, Cause::kStoppedSelf);
}

}  // namespace
}  // namespace dtl
