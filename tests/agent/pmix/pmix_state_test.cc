// Two nodes with two ranks each, seen from the first or the second.
#include "agent/pmix/pmix_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/pmix/contribution.h"
#include "base/error.h"

namespace dtl::pmix {
namespace {

ServePmix job_of_two_nodes(std::uint32_t node) {
  ServePmix job;
  job.space = "job.0";
  job.node = node;
  job.hosts = {"node1", "node2"};
  for (const std::uint32_t each : {0u, 0u, 1u, 1u}) job.places.push_back({each, 0});
  return job;
}

template <class M>
std::vector<M> sent(const std::vector<Effect>& effects) {
  std::vector<M> messages;
  for (const Effect& effect : effects) {
    const auto* send = std::get_if<Send>(&effect);
    if (send == nullptr) continue;
    if (const auto* message = std::get_if<M>(&send->message)) messages.push_back(*message);
  }
  return messages;
}

template <class E>
std::vector<E> all_of(const std::vector<Effect>& effects) {
  std::vector<E> found;
  for (const Effect& effect : effects) {
    if (const auto* one = std::get_if<E>(&effect)) found.push_back(*one);
  }
  return found;
}

Entered fence(std::uint64_t id, std::vector<std::uint32_t> ranks, std::string data) {
  return {id, Collective::kFence, {}, std::move(ranks), false, std::move(data)};
}

// What the launcher makes of both nodes' messages.
PmixFenced joined(const std::vector<PmixFence>& first, const std::vector<PmixFence>& second) {
  PmixFenced all{first.front().ranks, {}, false};
  for (const PmixFence& part : first) all.data += part.data;
  for (const PmixFence& part : second) all.data += part.data;
  return all;
}

Exited exited(std::uint32_t rank, std::uint32_t code = 0) {
  Exited exit;
  exit.rank = rank;
  exit.code = code;
  return exit;
}

TEST(PmixState, JoinsAFenceOfBothNodes) {
  PmixState one(job_of_two_nodes(0)), two(job_of_two_nodes(1));
  const auto first = sent<PmixFence>(one.happened(fence(1, {}, "abc")));
  const auto second = sent<PmixFence>(two.happened(fence(8, {3, 2, 1, 0}, "def")));
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(first[0].ranks.empty());
  EXPECT_TRUE(second[0].ranks.empty()) << "all ranks are named by none";
  const auto ends = all_of<EndCollective>(two.received(joined(first, second)));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].id, 8u);
  EXPECT_EQ(ends[0].failure, 0u);
  EXPECT_EQ(ends[0].data, "abcdef");
}

TEST(PmixState, EndsAFenceOfItsOwnRanksItself) {
  PmixState state(job_of_two_nodes(0));
  const auto effects = state.happened(fence(4, {1, 0}, "abc"));
  EXPECT_TRUE(sent<PmixFence>(effects).empty());
  ASSERT_EQ(all_of<EndCollective>(effects).size(), 1u);
  EXPECT_EQ(all_of<EndCollective>(effects)[0].data, "abc");
}

TEST(PmixState, CutsLargeDataAndTakesItInParts) {
  PmixState state(job_of_two_nodes(0));
  const std::string data(1'300'000, 'x');
  const auto parts = sent<PmixFence>(state.happened(fence(1, {}, data)));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].data.size(), 512u << 10);
  EXPECT_TRUE(parts[0].more && parts[1].more);
  EXPECT_FALSE(parts[2].more);
  std::vector<Effect> effects;
  for (const PmixFence& part : parts) {
    EXPECT_TRUE(effects.empty());
    effects = state.received(PmixFenced{part.ranks, part.data, part.more});
  }
  ASSERT_EQ(all_of<EndCollective>(effects).size(), 1u);
  EXPECT_EQ(all_of<EndCollective>(effects)[0].data, data);
}

TEST(PmixState, SendsASecondFenceOfTheSameRanksAfterTheFirst) {
  PmixState state(job_of_two_nodes(0));
  const auto first = sent<PmixFence>(state.happened(fence(1, {}, "abc")));
  EXPECT_TRUE(state.happened(fence(2, {}, "def")).empty());
  EXPECT_EQ(sent<PmixFence>(state.happened(fence(3, {0, 2}, "other ranks"))).size(), 1u);
  const auto effects = state.received(joined(first, {}));
  ASSERT_EQ(all_of<EndCollective>(effects).size(), 1u);
  EXPECT_EQ(all_of<EndCollective>(effects)[0].id, 1u);
  EXPECT_EQ(sent<PmixFence>(effects).size(), 1u);
}

TEST(PmixState, RefusesMoreThanANodeMayPut) {
  PmixState state(job_of_two_nodes(1));
  const auto effects = state.happened(fence(1, {0, 3}, std::string((8 << 20) + 1, 'x')));
  const auto news = sent<MpiNews>(effects);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].event, MpiEvent::kBroken);
  EXPECT_EQ(news[0].rank, 3u);
  EXPECT_EQ(news[0].text, "put more into PMIx_Fence than a node may (8 MiB)");
  ASSERT_EQ(all_of<EndCollective>(effects).size(), 1u);
  EXPECT_NE(all_of<EndCollective>(effects)[0].failure, 0u);
}

TEST(PmixState, GivesAGroupTheSameContextOnAllNodes) {
  PmixState one(job_of_two_nodes(0)), two(job_of_two_nodes(1));
  const Entered group{5, Collective::kMakeGroup, "group", {0, 3}, true, "e"};
  const auto first = sent<PmixFence>(one.happened(group));
  const auto second = sent<PmixFence>(two.happened(group));
  const auto here = all_of<EndCollective>(one.received(joined(first, second)));
  const auto there = all_of<EndCollective>(two.received(joined(second, first)));
  ASSERT_EQ(here.size(), 1u);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_TRUE(here[0].has_context);
  EXPECT_EQ(here[0].context, there[0].context);
  EXPECT_NE(here[0].context, 0u);
  EXPECT_EQ(here[0].members, (std::vector<std::uint32_t>{0, 3}));
  const auto local = all_of<EndCollective>(
      one.happened(Entered{6, Collective::kMakeGroup, "local", {0, 1}, true, {}}));
  ASSERT_EQ(local.size(), 1u);
  EXPECT_NE(local[0].context, here[0].context);
}

TEST(PmixState, NoticesRanksInDifferentCollectives) {
  PmixState one(job_of_two_nodes(0)), two(job_of_two_nodes(1));
  const auto first = sent<PmixFence>(one.happened(fence(1, {}, "abc")));
  const auto second =
      sent<PmixFence>(two.happened(Entered{2, Collective::kMakeGroup, "group", {}, false, {}}));
  const auto news = sent<MpiNews>(one.received(joined(first, second)));
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].text,
            "called PMIx_Fence while ranks of another node called PMIx_Group_construct");
}

TEST(PmixState, RejectsAFenceThatNobodyWaitsFor) {
  PmixState state(job_of_two_nodes(0));
  EXPECT_THROW(state.received(PmixFenced{{}, "abc", false}), Error);
  state.happened(fence(1, {}, "abc"));
  EXPECT_THROW(state.received(PmixFenced{{}, "abc", false}), Error) << "not a contribution";
}

TEST(PmixState, AsksTheNodeOfARank) {
  PmixState one(job_of_two_nodes(0)), two(job_of_two_nodes(1));
  const auto wanted = sent<PmixWanted>(one.happened(Asked{7, 3}));
  ASSERT_EQ(wanted.size(), 1u);
  const auto asked = all_of<AskRank>(two.received(wanted[0]));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].rank, 3u);
  const auto given =
      sent<PmixGiven>(two.happened(Told{3, asked[0].node, asked[0].number, 0, "address"}));
  ASSERT_EQ(given.size(), 1u);
  const auto ends = all_of<EndQuestion>(one.received(given[0]));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].id, 7u);
  EXPECT_EQ(ends[0].data, "address");
}

TEST(PmixState, AnswersForARankThatHasEnded) {
  PmixState state(job_of_two_nodes(1));
  state.received(PmixWanted{2, 0, 1});
  const auto given = sent<PmixGiven>(state.received(exited(2, 1)));
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].failure, kNotFound);
  EXPECT_TRUE(state.happened(Told{2, 0, 1, 0, "late"}).empty());
  EXPECT_EQ(sent<PmixGiven>(state.received(PmixWanted{2, 0, 2})).size(), 1u);
}

TEST(PmixState, TellsWhoLeftBetweenInitAndFinalize) {
  PmixState state(job_of_two_nodes(0));
  state.happened(Connected{0});
  state.happened(Connected{1});
  state.happened(Finalised{0});
  EXPECT_TRUE(sent<MpiNews>(state.received(exited(0))).empty());
  const auto news = sent<MpiNews>(state.received(exited(1)));
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].event, MpiEvent::kLeft);
  EXPECT_EQ(news[0].code, 0u);
}

TEST(PmixState, TellsWhoLeftBeforeInitOnceOthersWait) {
  PmixState state(job_of_two_nodes(0));
  EXPECT_TRUE(sent<MpiNews>(state.received(exited(1))).empty());
  const auto news = sent<MpiNews>(state.happened(Connected{0}));
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].rank, 1u);
  EXPECT_EQ(news[0].code, 1u);
}

TEST(PmixState, LeavesARankThatFailedToItsStatus) {
  PmixState state(job_of_two_nodes(0));
  state.happened(Connected{0});
  const auto effects = state.received(exited(0, 3));
  EXPECT_TRUE(sent<MpiNews>(effects).empty());
  EXPECT_EQ(all_of<Deregister>(effects).size(), 1u);
}

TEST(PmixState, TellsOfAnAbortAndLeavesTheRankWaiting) {
  PmixState state(job_of_two_nodes(0));
  state.happened(Connected{1});
  const auto effects = state.happened(Aborted{9, 1, 7, "N/A"});
  ASSERT_EQ(effects.size(), 1u);
  const auto news = sent<MpiNews>(effects);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].code, 7u);
  EXPECT_EQ(news[0].text, "");
  EXPECT_TRUE(state.happened(Aborted{10, 1, 8, "again"}).empty());
}

TEST(PmixState, SaysEachTextOnceAsOneLine) {
  PmixState state(job_of_two_nodes(0));
  const Said text{1, "-----\nWARNING: no\n  luck\n-----\n", 3};
  const auto effects = state.happened(text);
  const auto notices = sent<Notice>(effects);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].text, "rank 1: WARNING: no luck");
  EXPECT_EQ(all_of<Acknowledge>(effects).size(), 1u);
  EXPECT_EQ(state.happened(text).size(), 1u) << "only the answer";
}

TEST(PmixState, RejectsAJobThatContradictsItself) {
  ServePmix job = job_of_two_nodes(0);
  job.places[3].node = 2;
  EXPECT_THROW(PmixState{job}, Error);
  job = job_of_two_nodes(0);
  job.places.resize(2);
  job.node = 1;
  EXPECT_THROW(PmixState{job}, Error) << "no rank on this node";
}

TEST(NodePlaces, CountsRanksInNodesAndPrograms) {
  ServePmix job = job_of_two_nodes(1);
  job.places = {{1, 0}, {0, 1}, {1, 1}};
  const NodePlaces places = find_places(job);
  EXPECT_EQ(list_of(places.here()), "0,2");
  EXPECT_EQ(places.ranks[2].on_node, 1u);
  EXPECT_EQ(places.ranks[2].in_program, 1u);
  EXPECT_EQ(list_of(places.programs[1]), "1,2");
}

TEST(Contribution, ReadsWhatItWrote) {
  const std::string one = to_bytes({Collective::kEndGroup, 3, 1ull << 40, "name", "data"});
  const std::string two = to_bytes({Collective::kFence, 4, 0, "", ""});
  const auto all = read_contributions(one + two);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].context, 1ull << 40);
  EXPECT_EQ((*all)[0].name, "name");
  EXPECT_EQ((*all)[0].data, "data");
  EXPECT_EQ((*all)[1].node, 4u);
}

TEST(Contribution, RefusesAnythingElse) {
  const std::string good = to_bytes({Collective::kFence, 0, 0, "name", "data"});
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(read_contributions(good.substr(0, size))) << size;
  }
  std::string bad = good;
  bad[8] = 9;  // the collective
  EXPECT_FALSE(read_contributions(bad));
  bad = good;
  bad[21] = 100;  // the name's size
  EXPECT_FALSE(read_contributions(bad));
}

}  // namespace
}  // namespace dtl::pmix
