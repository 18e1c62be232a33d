// The cost model: its formulas, and what they say about clusters of a known speed.
#include "ring/operation/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ring/operation/algorithm_table.h"

namespace dtl::ring::test::cost_model_test {
namespace {

constexpr std::uint64_t kKi = 1 << 10, kMi = 1 << 20;

double best_time(WorldShape shape, std::uint64_t bytes, const LinkCosts& costs) {
  const AlgorithmTable table =
      AlgorithmTable::by_default(static_cast<int>(shape.ranks), shape.nodes, costs);
  return allreduce_time(table.choose(bytes), shape, bytes, costs);
}

TEST(CostModel, CountsStepsAndBytes) {
  LinkCosts costs;
  costs.latency = 1;
  costs.byte = 0.001;
  costs.overhead = costs.added_byte = 0;
  const auto time = [&](Algorithm algorithm, std::size_t ranks) {
    return allreduce_time(algorithm, {ranks, ranks}, 1000, costs);
  };
  EXPECT_DOUBLE_EQ(time(Algorithm::kDoubling, 8), 3 * (1 + 1.0));
  EXPECT_DOUBLE_EQ(time(Algorithm::kDoubling, 9), (4 + 1) * (1 + 1.0));
  EXPECT_DOUBLE_EQ(time(Algorithm::kHalving, 8), 6 + 2 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(time(Algorithm::kRing, 8), 14 + 2 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(time(Algorithm::kDirect, 8), 2 + 2 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(time(Algorithm::kGroups, 16), 4 + 2 * 15 / 16.0);
}

// A node has one link, whatever the number of its ranks.
TEST(CostModel, LetsLeadersSendOncePerNode) {
  const LinkCosts costs;
  const auto time = [&](Algorithm algorithm, WorldShape shape) {
    return allreduce_time(algorithm, shape, 4 * kKi, costs);
  };
  EXPECT_LT(time(Algorithm::kLeaders, {128, 16}), time(Algorithm::kDoubling, {128, 16}));
  EXPECT_DOUBLE_EQ(time(Algorithm::kLeaders, {16, 16}), time(Algorithm::kDoubling, {16, 16}));
}

TEST(CostModel, DividesMembersIntoGroupsOfAboutTheSquareRoot) {
  EXPECT_EQ(group_size_of(64), 8U);
  EXPECT_EQ(group_size_of(63), 7U);
  EXPECT_EQ(group_size_of(1000), 25U);
  EXPECT_EQ(group_size_of(61), 1U) << "a prime";
  EXPECT_EQ(group_size_of(2), 1U);
}

// 1,024 nodes at 25 Gbit/s: 0.34 ns a byte, of which a header takes its part; a message of the
// kernel's TCP takes 20 us.
TEST(CostModel, OfAThousandNodesKeepsWithinItsGoals) {
  LinkCosts costs;
  costs.latency = 20e-6;
  costs.byte = 0.34e-9;
  const WorldShape shape{1024, 1024};
  EXPECT_LT(best_time(shape, 64 * kKi, costs), 0.5e-3);
  EXPECT_LT(best_time(shape, kMi, costs), 1.3e-3);
  EXPECT_LT(best_time(shape, 64 * kMi, costs), 55e-3);
  EXPECT_GT(allreduce_time(Algorithm::kRing, shape, 64 * kKi, costs), 40e-3);
}

// For every size, what is chosen is among the quickest, but for groups, which must be worth their
// connections.
TEST(CostModel, IsWhatTheTableOfManyRanksFollows) {
  const LinkCosts costs;
  for (const WorldShape shape :
       {WorldShape{17, 17}, {32, 32}, {63, 63}, {64, 8}, {1024, 1024}, {4096, 512}}) {
    for (std::uint64_t bytes = 4; bytes <= 512 * kMi; bytes *= 2) {
      double least = 1e9;
      for (const Algorithm each : AlgorithmTable::candidates(shape)) {
        least = std::min(least, allreduce_time(each, shape, bytes, costs));
      }
      // A range of the table has one algorithm for sizes that differ by a factor of two.
      EXPECT_LE(best_time(shape, bytes, costs), 1.5 * least) << shape.ranks << ", " << bytes;
    }
  }
}

TEST(CostModel, LetsABroadcastTakeTheTreeThatItsSizeNeeds) {
  const LinkCosts costs;
  const WorldShape shape{1024, 1024};
  const auto time = [&](Way way, std::uint64_t bytes) {
    return broadcast_time(way, shape, bytes, costs);
  };
  EXPECT_LT(time(Way::kTree, kKi), time(Way::kBinary, kKi));
  EXPECT_LT(time(Way::kTree, kKi), time(Way::kChain, kKi));
  EXPECT_LT(time(Way::kBinary, kMi), time(Way::kTree, kMi));
  EXPECT_LT(time(Way::kBinary, kMi), time(Way::kChain, kMi));
  EXPECT_LT(time(Way::kChain, 1024 * kMi), time(Way::kBinary, 1024 * kMi));
}

}  // namespace
}  // namespace dtl::ring::test::cost_model_test
