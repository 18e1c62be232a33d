#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "tests/launcher/job_fixture.h"
#include "wire/field_kinds.h"

namespace dtl::job_pmix_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ranks = std::vector<std::uint32_t>;

// What a node was told at the end of a fence, as "DATA of RANK RANK", with a plus if more follows.
std::vector<std::string> fenced_at(const std::vector<job::Effect>& effects, int node) {
  std::vector<std::string> told;
  for (const PmixFenced& part : sent_to<PmixFenced>(effects, node)) {
    std::string text = part.data + " of";
    for (const std::uint32_t rank : part.ranks) text += " " + std::to_string(rank);
    told.push_back(text + (part.more ? "+" : ""));
  }
  return told;
}

class JobPmix : public JobTest {
 protected:
  JobPmix() { run(); }
  std::vector<job::Effect> fence(int node, const Ranks& ranks, const std::string& data,
                                 bool more = false) {
    return hear(node, PmixFence{ranks, data, more});
  }
  void expect_given_up(int node) {
    ASSERT_TRUE(job_.outcome.has_value());
    EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
    EXPECT_EQ(job_.outcome->node, node);
  }
};

TEST_F(JobPmix, EndsAFenceWithTheDataOfAllNodesOnceTheLastOneHasCome) {
  EXPECT_THAT(fence(1, {}, "b"), IsEmpty());
  const auto ended = fence(0, {}, "a");
  EXPECT_THAT(fenced_at(ended, 0), ElementsAre("ab of"));
  EXPECT_THAT(fenced_at(ended, 1), ElementsAre("ab of"));
  EXPECT_EQ(job_.mpi.fence_bytes, 0U);
  EXPECT_THAT(fence(1, {}, "next"), IsEmpty());
}

TEST_F(JobPmix, EndsAFenceWithoutData) {
  fence(0, {}, "");
  EXPECT_THAT(fenced_at(fence(1, {}, ""), 0), ElementsAre(" of"));
}

// libpmix packs what a node has put, and cannot read it in pieces with another node's between.
TEST_F(JobPmix, KeepsThePartsOfANodeTogether) {
  fence(0, {}, "a1", true);
  fence(1, {}, "b1", true);
  fence(0, {}, "a2");
  EXPECT_THAT(fenced_at(fence(1, {}, "b2"), 0), ElementsAre("a1a2b1b2 of"));
}

TEST_F(JobPmix, JoinsFencesOfSomeRanksByThese) {
  EXPECT_THAT(fence(0, {0, 2}, "a"), IsEmpty());
  EXPECT_THAT(fence(0, {1, 2}, "x"), IsEmpty());
  EXPECT_THAT(fence(0, {}, "all"), IsEmpty());
  const auto ended = fence(1, {0, 2}, "b");
  EXPECT_THAT(fenced_at(ended, 0), ElementsAre("ab of 0 2"));
  EXPECT_THAT(fenced_at(ended, 1), ElementsAre("ab of 0 2"));
  EXPECT_EQ(job_.mpi.fences.size(), 2U);
}

TEST_F(JobPmix, TellsOnlyTheNodesOfAFence) {
  const auto ended = fence(1, {2, 3}, "b");
  EXPECT_THAT(fenced_at(ended, 1), ElementsAre("b of 2 3"));
  EXPECT_THAT(fenced_at(ended, 0), IsEmpty());
}

TEST_F(JobPmix, CutsWhatExceedsAMessage) {
  const std::string half(kMaxPmixBytes / 2, 'a');
  fence(0, {}, half + half, true);
  fence(0, {}, half);
  const auto parts = sent_to<PmixFenced>(fence(1, {}, half + "end"), 1);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].data.size(), kMaxPmixBytes);
  EXPECT_EQ(parts[1].data.size(), kMaxPmixBytes);
  EXPECT_EQ(parts[2].data, "end");
  EXPECT_TRUE(parts[0].more && parts[1].more && !parts[2].more);
}

TEST_F(JobPmix, EndsAJobThatPutsMoreThanAConnectionCanQueue) {
  const std::string large(kMaxPmixBytes, 'v');
  for (int i = 0; i < 40 && !job_.outcome; ++i) fence(1, {}, large, true);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiBroken);
  EXPECT_THAT(job_.outcome->text, HasSubstr("more than 12 MiB"));
  EXPECT_THAT(failure_card(*job_.outcome, CardFacts{}, 0), HasSubstr("PMIX_COLLECT_DATA"));
  EXPECT_TRUE(job_.mpi.fences.empty());
}

TEST_F(JobPmix, CountsTheDataOfAllFencesTogether) {
  const std::string large(kMaxPmixBytes, 'v');
  for (int i = 0; i < 13; ++i) fence(0, {}, large, true);
  EXPECT_FALSE(job_.outcome.has_value());
  for (int i = 0; i < 13; ++i) fence(0, {0, 2}, large, true);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiBroken);
}

TEST_F(JobPmix, GivesUpANodeThatIsInAFenceTwice) {
  fence(0, {0, 2}, "a");
  fence(0, {0, 2}, "a");
  expect_given_up(0);
}

TEST_F(JobPmix, GivesUpANodeWithoutARankOfTheFence) {
  fence(0, {0, 1}, "a");  // ends at once
  fence(1, {0, 1}, "b");
  expect_given_up(1);
}

TEST_F(JobPmix, GivesUpANodeWhoseFenceHasRanksThatDoNotExist) {
  fence(0, {0, 4}, "a");
  expect_given_up(0);
}

TEST_F(JobPmix, GivesUpANodeThatNamesRanksOutOfOrder) {
  fence(0, {2, 0}, "a");
  expect_given_up(0);
}

TEST_F(JobPmix, NamesARankThatEndedWhileAnotherNodeWaitsForItInAFence) {
  exit_rank(2, 0);
  fence(0, {}, "");
  pass(kMpiPatience + kHeartbeat);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiLeft);
  EXPECT_EQ(job_.outcome->rank, 2);
}

TEST_F(JobPmix, DoesNotMindARankThatEndedOutsideAFenceOfSome) {
  exit_rank(3, 0);
  fence(0, {0, 2}, "");
  pass(kMpiPatience + 2 * kHeartbeat);
  EXPECT_FALSE(job_.outcome.has_value());
}

TEST_F(JobPmix, PassesAQuestionToTheRanksNodeAndTheAnswerBack) {
  const auto asked = sent_to<PmixWanted>(hear(0, PmixWanted{3, 0, 17}), 1);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].rank, 3U);
  EXPECT_EQ(asked[0].number, 17U);
  const auto given = sent_to<PmixGiven>(hear(1, PmixGiven{0, 17, 0, "card", true}), 0);
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].data, "card");
  EXPECT_EQ(given[0].number, 17U);
  EXPECT_TRUE(given[0].more);
}

TEST_F(JobPmix, AnswersAtOnceForARankThatHasEnded) {
  exit_rank(3, 0);
  const auto effects = hear(0, PmixWanted{3, 0, 17});
  EXPECT_THAT(sent<PmixWanted>(effects), IsEmpty());
  const auto given = sent_to<PmixGiven>(effects, 0);
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].failure, 46U);
  EXPECT_EQ(given[0].number, 17U);
  EXPECT_FALSE(given[0].more);
}

TEST_F(JobPmix, GivesUpANodeThatAsksForARankThatDoesNotExist) {
  hear(0, PmixWanted{4, 0, 1});
  expect_given_up(0);
}

TEST_F(JobPmix, GivesUpANodeThatAsksInTheNameOfAnother) {
  hear(0, PmixWanted{3, 1, 1});
  expect_given_up(0);
}

TEST_F(JobPmix, GivesUpANodeThatAnswersOneThatDoesNotExist) {
  hear(1, PmixGiven{2, 1, 0, "", false});
  expect_given_up(1);
}

TEST_F(JobPmix, GivesUpAnAgentThatPassesOnWhatIsForItself) {
  hear(1, PmixReady{2, {"A=1"}});
  expect_given_up(1);
}

TEST_F(JobPmix, IgnoresFencesAndQuestionsOnceTheJobEnds) {
  fence(0, {}, "a");
  exit_rank(2, 3);
  EXPECT_THAT(fence(1, {}, "b"), IsEmpty());
  EXPECT_THAT(hear(1, PmixWanted{0, 1, 1}), IsEmpty());
}

// A job whose first ranks are on the second host.
TEST(JobPmixNumbers, CountTheNodesInTheOrderOfTheirRanks) {
  Job job = make_job(2, {});
  const auto feed = [&](const job::Event& event) { return step(job, event, JobTime(0)); };
  feed(job::AgentReady{0});
  feed(job::AgentReady{1});
  feed(job::Placed{{1, 0}, {{0}, {1}}});
  for (const int node : {0, 1}) feed(job::FromAgent{node, Listening{}});
  for (const int node : {0, 1}) feed(job::FromAgent{node, Reached{}});
  feed(job::Judged{false});
  feed(job::Planned{});
  for (const int node : {0, 1}) feed(job::FromAgent{node, CoresClaimed{}});
  ASSERT_EQ(job.state, JobState::kRunning);
  feed(job::FromAgent{1, Started{0, 100}});
  feed(job::FromAgent{0, Started{1, 101}});
  EXPECT_EQ(sent_to<PmixWanted>(feed(job::FromAgent{1, PmixWanted{1, 0, 5}}), 0).size(), 1U);
  EXPECT_EQ(sent_to<PmixGiven>(feed(job::FromAgent{0, PmixGiven{0, 5, 0, "x", false}}), 1).size(),
            1U);
}

}  // namespace
}  // namespace dtl::job_pmix_test
