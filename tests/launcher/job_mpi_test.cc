#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/limits.h"
#include "tests/launcher/job_fixture.h"

namespace dtl::job_mpi_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What a node's agent was told at the end of a barrier, as KEY=VALUE.
std::vector<std::string> fenced_at(const std::vector<job::Effect>& effects, int node) {
  std::vector<std::string> told;
  for (const PmiFenced& part : sent_to<PmiFenced>(effects, node)) {
    for (const PmiEntry& entry : part.entries) told.push_back(entry.key + "=" + entry.value);
    told.push_back(part.more ? "more" : "end");
  }
  return told;
}

class JobMpi : public JobTest {
 protected:
  JobMpi() { run(); }
  std::vector<job::Effect> news(std::uint32_t rank, MpiEvent event, std::uint32_t code = 0,
                                const std::string& text = "") {
    return hear(static_cast<int>(rank / 2), MpiNews{rank, event, code, text});
  }
};

TEST_F(JobMpi, EndsABarrierWithTheEntriesOfAllNodesOnceTheLastOneHasCome) {
  EXPECT_THAT(hear(0, PmiFence{{{"a", "1"}}, false}), IsEmpty());
  const auto ended = hear(1, PmiFence{{{"b", "2"}}, false});
  EXPECT_THAT(fenced_at(ended, 0), ElementsAre("a=1", "b=2", "end"));
  EXPECT_THAT(fenced_at(ended, 1), ElementsAre("a=1", "b=2", "end"));
}

TEST_F(JobMpi, BeginsTheNextBarrierWithoutTheEntriesOfTheLast) {
  hear(0, PmiFence{{{"a", "1"}}, false});
  hear(1, PmiFence{});
  EXPECT_THAT(hear(1, PmiFence{{{"c", "3"}}, false}), IsEmpty());
  EXPECT_THAT(fenced_at(hear(0, PmiFence{}), 0), ElementsAre("c=3", "end"));
}

TEST_F(JobMpi, WaitsForAllPartsOfANode) {
  hear(0, PmiFence{});
  EXPECT_THAT(hear(1, PmiFence{{{"a", "1"}}, true}), IsEmpty());
  EXPECT_THAT(fenced_at(hear(1, PmiFence{{{"b", "2"}}, false}), 0),
              ElementsAre("a=1", "b=2", "end"));
}

TEST_F(JobMpi, CutsWhatExceedsAFrameIntoSeveralMessages) {
  const std::string value(4096, 'v');
  for (int i = 0; i < 200; ++i) hear(0, PmiFence{{{"k", value}}, true});
  hear(0, PmiFence{});
  std::size_t parts = 0, entries = 0, most = 0;
  for (const PmiFenced& fenced : sent_to<PmiFenced>(hear(1, PmiFence{}), 1)) {
    ++parts;
    entries += fenced.entries.size();
    most = std::max(most, fenced.entries.size() * (value.size() + 9));
  }
  EXPECT_EQ(entries, 200U);
  EXPECT_EQ(parts, 2U);
  EXPECT_LE(most, kMaxFrameBytes);
}

TEST_F(JobMpi, EndsAJobThatPutsMoreThanAConnectionCanQueue) {
  const PmiFence large{std::vector<PmiEntry>(100, {"k", std::string(4096, 'v')}), true};
  for (int i = 0; i < 40 && !job_.outcome; ++i) hear(1, large);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_TRUE(job_.mpi.barrier.parts.empty());
  CardFacts facts;
  facts.host = "node2";
  const std::string card = failure_card(*job_.outcome, facts, 0);
  EXPECT_THAT(card, HasSubstr("node2 broke the rules of PMI: with it, the ranks have put more than "
                              "12 MiB at one barrier"));
  EXPECT_THAT(card, testing::Not(HasSubstr("PMI_FD")));
}

TEST_F(JobMpi, GivesUpANodeThatIsInABarrierTwice) {
  hear(0, PmiFence{});
  hear(0, PmiFence{});
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
  EXPECT_EQ(job_.outcome->node, 0);
}

TEST_F(JobMpi, EndsWithTheCodeOfMpiAbortAndNamesTheRank) {
  EXPECT_THAT(sent<Stop>(news(3, MpiEvent::kAborted, 7)), ElementsAre(0, 1));
  exit_rank(3, 9);  // what the rank's own exit says comes too late
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiAbort);
  EXPECT_EQ(job_.outcome->exit_status, 7);
  CardFacts facts;
  facts.host = "node2";
  EXPECT_THAT(failure_card(*job_.outcome, facts, 80),
              HasSubstr("rank 3 on node2 called MPI_Abort(7)"));
}

TEST_F(JobMpi, NeverEndsWithStatusZeroAfterMpiAbort) {
  news(3, MpiEvent::kAborted, 256);
  EXPECT_EQ(job_.outcome->exit_status, 1);
}

TEST_F(JobMpi, NamesARankThatLeftWithoutFinalizeWhileOthersRunOn) {
  news(1, MpiEvent::kLeft);
  exit_rank(1, 0);
  EXPECT_FALSE(job_.outcome.has_value());
  pass(kMpiPatience);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiLeft);
  EXPECT_EQ(job_.outcome->rank, 1);
  EXPECT_EQ(job_.outcome->exit_status, 76);
}

TEST_F(JobMpi, NamesARankThatEndedWhileAnotherNodeWaitsForItInABarrier) {
  exit_rank(2, 0);
  pass(kMpiPatience);
  EXPECT_FALSE(job_.outcome.has_value());
  hear(0, PmiFence{});
  pass(kMpiPatience + kHeartbeat);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiLeft);
  EXPECT_EQ(job_.outcome->rank, 2);
}

TEST_F(JobMpi, DoesNotMindWhenAllRanksEndLikeThat) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    news(rank, MpiEvent::kLeft);
    exit_rank(rank, 0);
  }
  EXPECT_EQ(job_.outcome->cause, Cause::kCompleted);
}

TEST_F(JobMpi, NamesARankThatLeftThoughTheOthersEndedSoonAfter) {
  news(1, MpiEvent::kLeft);
  for (std::uint32_t rank = 0; rank < 4; ++rank) exit_rank(rank, 0);
  ASSERT_TRUE(job_.outcome.has_value());
  EXPECT_EQ(job_.outcome->cause, Cause::kMpiLeft);
  EXPECT_EQ(job_.outcome->rank, 1);
  EXPECT_EQ(job_.outcome->exit_status, 76);
  CardFacts facts;
  facts.host = "node1";
  EXPECT_THAT(failure_card(*job_.outcome, facts, 0),
              HasSubstr("rank 1 on node1 exited with status 0 without MPI_Finalize, which other "
                        "ranks called\n"));
}

TEST_F(JobMpi, BlamesAFailureThatComesAfterALeaver) {
  news(1, MpiEvent::kLeft);
  exit_rank(1, 0);
  exit_rank(2, 3);
  EXPECT_EQ(job_.outcome->cause, Cause::kRankExit);
  EXPECT_EQ(job_.outcome->rank, 2);
}

TEST_F(JobMpi, AdvisesARankThatBrokeTheRulesOfPmi1) {
  CardFacts facts;
  facts.host = "node2";
  news(3, MpiEvent::kBroken, 0, "sent what is not PMI-1: \"GET /\"");
  EXPECT_THAT(failure_card(*job_.outcome, facts, 0), HasSubstr("\n  try      env -u PMI_FD "));
}

TEST_F(JobMpi, DoesNotSpeakOfPmi1ToARankThatBrokeTheRulesOfPmix) {
  CardFacts facts;
  facts.host = "node2";
  news(3, MpiEvent::kBroken, 0, "called PMIx_Fence with a rank that the job lacks");
  EXPECT_EQ(failure_card(*job_.outcome, facts, 0),
            "rank 3 on node2 broke the rules of PMI: called PMIx_Fence with a rank that the job "
            "lacks");
}

TEST_F(JobMpi, EndsAJobWhoseRankRunsOpenMpiWithoutPmix) {
  news(2, MpiEvent::kAlone, 0, "Open MPI (libmpi.so.40)");
  EXPECT_EQ(job_.outcome->exit_status, 78);
  CardFacts facts;
  facts.host = "node2";
  EXPECT_EQ(
      failure_card(*job_.outcome, facts, 0),
      "rank 2 on node2 loaded Open MPI (libmpi.so.40) without PMIx: each rank would be rank 0 "
      "of 1\n  try      --pmi pmix  # serves Open MPI, or says what a host lacks");
}

TEST_F(JobMpi, TakesNoNewsOfARankThatIsNotTheNodes) {
  hear(0, MpiNews{3, MpiEvent::kAborted, 7, ""});
  EXPECT_EQ(job_.outcome->cause, Cause::kAgentFailed);
}

}  // namespace
}  // namespace dtl::job_mpi_test
