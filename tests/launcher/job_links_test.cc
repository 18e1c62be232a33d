// Connections that are lost and found again (--reconnect).

#include "job_fixture.h"

namespace dtl {
namespace {

class JobLinksTest : public JobTest {
 protected:
  JobLinksTest() {
    job_.options.ending.reconnect = 60s;
    feed(job::AgentReady{0, true});
    feed(job::AgentReady{1, true});
    plan();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      hear(static_cast<int>(rank / 2), Started{rank, 100 + rank});
    }
  }
  std::vector<job::Effect> lose_connection() {
    job::AgentLost lost;
    lost.node = 1;
    lost.cause = Cause::kNodeLost;
    lost.exit_status = 69;
    lost.may_live = true;
    return feed(lost);
  }
  static std::uint32_t last_attempt(const std::vector<job::Effect>& effects) {
    std::uint32_t attempt = 0;
    for (const auto& effect : effects) {
      if (const auto* rejoin = std::get_if<job::Rejoin>(&effect)) attempt = rejoin->attempt;
    }
    return attempt;
  }
  std::vector<job::Effect> answer(std::uint32_t attempt, std::optional<ResumeAnswer> result) {
    return feed(job::LinkTried{1, attempt, result, "no route to host"});
  }
};

TEST_F(JobLinksTest, GoesOnWithAHostThatIsFoundAgain) {
  EXPECT_NE(notices(lose_connection()).find("looking for it for up to 60 s"), std::string::npos);
  EXPECT_EQ(notices(lose_connection()), "") << "it is known";
  EXPECT_EQ(last_attempt(pass(1ms, {0})), 1u);
  answer(1, std::nullopt);
  EXPECT_EQ(last_attempt(pass(kFirstRejoinPause - 1ms, {0})), 0u);
  EXPECT_EQ(last_attempt(pass(2ms, {0})), 2u);
  pass(20s, {0});
  EXPECT_NE(notices(answer(2, ResumeAnswer::kResumed)).find("found again after"),
            std::string::npos);
  EXPECT_EQ(job_.state, JobState::kRunning);
  pass(5s);
  EXPECT_EQ(notices(lose_connection()), "connection lost, looking for it for up to 60 s\n");
  EXPECT_EQ(last_attempt(pass(1ms, {0})), 3u) << "a number of its own";
}

TEST_F(JobLinksTest, LooksForAHostThatHasFallenSilent) {
  const auto effects = pass(kDead + 1s, {0});
  EXPECT_NE(notices(effects).find("the job goes on if one comes within 69 s"), std::string::npos);
  EXPECT_NE(notices(effects).find("looking for it"), std::string::npos);
  EXPECT_EQ(last_attempt(effects), 1u);
}

TEST_F(JobLinksTest, EndsWhenTheTimeIsOver) {
  lose_connection();
  pass(1ms, {0});
  answer(1, std::nullopt);
  pass(59s, {0});
  EXPECT_EQ(job_.state, JobState::kRunning);
  pass(2s, {0});
  ASSERT_TRUE(job_.outcome);
  EXPECT_EQ(job_.outcome->cause, Cause::kNodeLost);
  EXPECT_EQ(job_.outcome->exit_status, 69);
  EXPECT_NE(job_.outcome->text.find("no route to host"), std::string::npos);
}

TEST_F(JobLinksTest, EndsAtOnceWhenItsAgentIsGone) {
  lose_connection();
  pass(1ms, {0});
  answer(1, ResumeAnswer::kGone);
  ASSERT_TRUE(job_.outcome);
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
}

TEST_F(JobLinksTest, IsInterruptedWhileItLooks) {
  lose_connection();
  pass(1s, {0});
  feed(job::Signalled{2});
  exit_rank(0, 0, 15);
  exit_rank(1, 0, 15);
  EXPECT_EQ(job_.state, JobState::kStopping) << "the host may come back and be told";
  pass(kInterruptGrace + kAnswerMargin + 1s, {0});
  EXPECT_EQ(job_.state, JobState::kFinishing);
  EXPECT_EQ(job_.outcome->cause, Cause::kInterrupted);
}

TEST_F(JobLinksTest, IsInterruptedTwiceWhileItLooks) {
  lose_connection();
  pass(1s, {0});
  feed(job::Signalled{2});
  feed(job::Signalled{2});
  exit_rank(0, 0, 9);
  exit_rank(1, 0, 9);
  pass(100ms, {0});
  EXPECT_EQ(job_.state, JobState::kFinishing);
}

TEST_F(JobLinksTest, HasNoTimeForThatWhileItEnds) {
  feed(job::Signalled{2});
  lose_connection();
  EXPECT_EQ(job_.nodes[1].phase, NodePhase::kGone);
}

// Node 1 is behind node 0.
class JobTreeTest : public JobLinksTest {
 protected:
  JobTreeTest() {
    job_ = make_job(2, {});
    for (const int node : {0, 1}) {
      job::AgentReady ready{node, true};
      ready.branch_delay = node == 0 ? JobTime{0} : kBranchDelay;
      feed(ready);
    }
  }
};

TEST_F(JobTreeTest, SaysNothingOfABranchThatIsSoonReplaced) {
  run();
  std::vector<job::Effect> all = lose_connection();
  append(all, pass(kBranchDelay - 1ms, {0}));
  EXPECT_EQ(last_attempt(all), 0u) << "it will come by itself";
  append(all, feed(job::BranchTaken{1}));
  append(all, pass(30s));
  EXPECT_EQ(notices(all), "");
  EXPECT_EQ(last_attempt(all), 0u);
  EXPECT_FALSE(job_.outcome);
}

TEST_F(JobTreeTest, LogsInAgainAndNamesTheHostIfNoBranchComes) {
  std::vector<job::Effect> all = lose_connection();
  append(all, pass(kBranchDelay + 1ms, {0}));
  EXPECT_EQ(last_attempt(all), 1u);
  EXPECT_EQ(notices(all), "");
  append(all, pass(kQuietSearch - kBranchDelay, {0}));
  EXPECT_EQ(notices(all), "connection lost, looking for it for up to 9 s\n");
  EXPECT_EQ(notices(answer(1, ResumeAnswer::kResumed)), "found again after 3 s\n");
  EXPECT_FALSE(job_.outcome);
}

TEST_F(JobTreeTest, EndsAtOnceWhenTheHostAnswersWithoutItsAgent) {
  lose_connection();
  pass(kBranchDelay + 1ms, {0});
  answer(1, ResumeAnswer::kGone);
  ASSERT_TRUE(job_.outcome);
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(job_.outcome->node, 1);
}

TEST_F(JobTreeTest, SearchesInEachStateAndNotBeyondIt) {
  lose_connection();
  EXPECT_TRUE(job_.nodes[1].link.searching()) << state_name(job_.state);
  feed(job::BranchTaken{1});
  run();
  exit_rank(0, 0);
  exit_rank(1, 0);
  exit_rank(2, 0);
  exit_rank(3, 0);
  ASSERT_EQ(job_.state, JobState::kFinishing);
  lose_connection();
  EXPECT_TRUE(job_.nodes[1].link.searching());
  feed(job::BranchTaken{1});
  hear(0, Finished{});
  hear(1, Finished{});
  EXPECT_EQ(job_.state, JobState::kDone);
  EXPECT_EQ(job_.outcome->exit_status, 0);
}

TEST_F(JobTreeTest, HearsOfNodesByOthers) {
  run();
  std::string said;
  for (int second = 0; second < 30; ++second) {
    said += notices(pass(1s, {0}));
    feed(job::Alive{{1}});
  }
  EXPECT_EQ(said, "");
  EXPECT_EQ(notices(pass(kBranchSilence - 1ms, {0})), "");
  EXPECT_NE(notices(pass(2ms, {0})), "");
}

}  // namespace
}  // namespace dtl
