// The algorithms for many ranks: results, and how many peers a rank has.
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <string>

#include "tests/ring/planned_world.h"

namespace dtl::ring::test::many_ranks_test {
namespace {

using Values = std::vector<float>;

float value_of(std::size_t rank, std::size_t i) {
  return static_cast<float>((rank * 13 + i * 7) % 29);
}

std::size_t log2_of(std::size_t ranks) {
  return std::bit_width(ranks - 1);
}

// One rank per node, or `per_node`, the last node with fewer if they do not fit.
std::vector<int> nodes_of(std::size_t ranks, std::size_t per_node = 1) {
  std::vector<int> nodes;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    nodes.push_back(static_cast<int>(rank / per_node));
  return nodes;
}

// The buffers of all ranks, and their requests.
struct Buffers {
  std::vector<Values> in, out;
  std::vector<Request> requests;

  Buffers(Opcode opcode, std::size_t ranks, std::size_t in_count, std::size_t out_count,
          std::size_t count, bool is_in_place = false)
      : in(ranks), out(ranks), requests(ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      in[rank].resize(in_count);
      for (std::size_t i = 0; i < in_count; ++i) in[rank][i] = value_of(rank, i);
      out[rank].assign(out_count, -1.0F);
      Request& request = requests[rank];
      request.opcode = opcode;
      request.dtype = DT_F32;
      request.count = count;
      request.in = reinterpret_cast<const std::byte*>(in[rank].data());
      request.out = reinterpret_cast<std::byte*>(is_in_place ? in[rank].data() : out[rank].data());
    }
  }
  const Values& result(std::size_t rank, bool is_in_place) const {
    return is_in_place ? in[rank] : out[rank];
  }
};

Values sum_of(std::size_t ranks, std::size_t count) {
  Values sum(count, 0.0F);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += value_of(rank, i);
  }
  return sum;
}

Choice by(Algorithm algorithm, Way way) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.way = way;
  return choice;
}

void check_allreduce(const std::vector<int>& nodes, const Choice& choice, std::size_t count,
                     const std::function<void(const PlannedWorld&)>& look = {}) {
  SCOPED_TRACE(std::to_string(nodes.size()) + " ranks, " + std::to_string(count) + " values");
  for (const bool is_in_place : {false, true}) {
    Buffers buffers(Opcode::kAllreduce, nodes.size(), count, count, count, is_in_place);
    PlannedWorld world(nodes);
    world.plan(buffers.requests, choice);
    world.run(static_cast<unsigned>(count));
    const Values expected = sum_of(nodes.size(), count);
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      ASSERT_EQ(buffers.result(rank, is_in_place), expected) << "rank " << rank;
    }
    if (look) look(world);
  }
}

TEST(Halving, SumsForEveryNumberOfRanks) {
  const Choice halving = by(Algorithm::kHalving, Way::kHalving);
  for (std::size_t ranks = 2; ranks <= 70; ++ranks) {
    for (const std::size_t count : {std::size_t{1}, ranks - 1, 3 * ranks + 1}) {
      check_allreduce(nodes_of(ranks), halving, count);
    }
  }
}

TEST(Halving, HasAPeerForEachBitOfTheNumberOfRanks) {
  const Choice halving = by(Algorithm::kHalving, Way::kHalving);
  for (const std::size_t ranks : {64, 100, 127, 255, 256, 257}) {
    check_allreduce(nodes_of(ranks), halving, 300, [&](const PlannedWorld& world) {
      EXPECT_LE(world.most_peers(), log2_of(ranks) + 1);
    });
  }
}

// A sum moves every byte about once each way. With another number than a power of two, one rank
// gives its half of the results to two.
TEST(Halving, SendsAtMostOneAndAHalfTimesAsMuchAsARing) {
  const Choice halving = by(Algorithm::kHalving, Way::kHalving);
  for (const std::size_t ranks : {32, 33, 48, 63}) {
    const std::size_t count = ranks * 64;
    check_allreduce(nodes_of(ranks), halving, count, [&](const PlannedWorld& world) {
      const double data = static_cast<double>(count * sizeof(float));
      const double most = std::has_single_bit(ranks) ? 2.0 : 2.55;
      EXPECT_LE(static_cast<double>(world.most_sent()), most * data) << ranks;
    });
  }
}

TEST(Halving, SumsAcrossNodesOfSeveralRanks) {
  const Choice halving = by(Algorithm::kHalving, Way::kOverNodes);
  for (const std::size_t per_node : {2, 3, 4}) {
    for (const std::size_t ranks : {9, 24, 31, 50}) {
      for (const std::size_t count : {1, 40, 1000}) {
        check_allreduce(nodes_of(ranks, per_node), halving, count);
      }
    }
  }
}

TEST(Groups, SumForEveryNumberOfRanks) {
  const Choice groups = by(Algorithm::kGroups, Way::kGroups);
  for (std::size_t ranks = 2; ranks <= 70; ++ranks) {
    for (const std::size_t count : {std::size_t{1}, 3 * ranks + 1}) {
      check_allreduce(nodes_of(ranks), groups, count);
    }
  }
}

TEST(Groups, HaveAPeerForEachOtherMemberOfTwoGroups) {
  const Choice groups = by(Algorithm::kGroups, Way::kGroups);
  check_allreduce(nodes_of(144), groups, 1000, [](const PlannedWorld& world) {
    EXPECT_EQ(world.most_peers(), 22U);  // 12 groups of 12
  });
}

TEST(Groups, SumAcrossNodesOfSeveralRanks) {
  for (const std::size_t ranks : {18, 32, 34}) {
    check_allreduce(nodes_of(ranks, 2), by(Algorithm::kGroups, Way::kOverNodes), 1000);
  }
}

TEST(Leaders, SumForEveryNumberOfRanksAndNodes) {
  const Choice leaders = by(Algorithm::kLeaders, Way::kLeaders);
  for (std::size_t ranks = 2; ranks <= 40; ++ranks) {
    for (const std::size_t per_node : {std::size_t{1}, std::size_t{2}, std::size_t{5}, ranks}) {
      check_allreduce(nodes_of(ranks, per_node), leaders, 17);
    }
  }
}

TEST(Leaders, SendOneMessagePerNodeAndStep) {
  const auto messages = [](const Choice& choice) {
    std::uint64_t count = 0;
    check_allreduce(nodes_of(64, 8), choice, 4,
                    [&](const PlannedWorld& world) { count = world.messages(); });
    return count;
  };
  // 7 ranks of each of 8 nodes send to their leader and back; 8 leaders take 3 steps.
  EXPECT_EQ(messages(by(Algorithm::kLeaders, Way::kLeaders)), 8U * (7 + 7 + 3));
  EXPECT_EQ(messages(by(Algorithm::kDoubling, Way::kDoubling)), 64U * 6);
}

void check_reduce(std::size_t ranks, std::size_t root, Way way, std::size_t count) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks to " + std::to_string(root));
  for (const bool is_in_place : {false, true}) {
    Buffers buffers(Opcode::kReduce, ranks, count, count, count, is_in_place);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      buffers.requests[rank].root = static_cast<int>(root);
      if (rank != root) buffers.requests[rank].out = nullptr;
    }
    PlannedWorld world(nodes_of(ranks));
    world.plan(buffers.requests, by(Algorithm::kOnly, way));
    world.run(static_cast<unsigned>(root));
    ASSERT_EQ(buffers.result(root, is_in_place), sum_of(ranks, count));
    EXPECT_LE(world.most_peers(), log2_of(ranks) + 1);
  }
}

TEST(Reduce, OfManyRanksReachesEveryRoot) {
  for (const std::size_t ranks : {2, 3, 5, 8, 17, 23, 32, 33}) {
    for (std::size_t root = 0; root < ranks; ++root) {
      check_reduce(ranks, root, Way::kTree, 5);
      check_reduce(ranks, root, Way::kHalving, 3 * ranks + 1);
      check_reduce(ranks, root, Way::kHalving, 1);
    }
  }
}

TEST(ReduceScatter, OfManyRanksGivesEachItsPart) {
  for (std::size_t ranks = 2; ranks <= 50; ++ranks) {
    SCOPED_TRACE(ranks);
    const std::size_t each = 3, count = each * ranks;
    Buffers buffers(Opcode::kReduceScatter, ranks, count, each, each);
    PlannedWorld world(nodes_of(ranks));
    world.plan(buffers.requests, by(Algorithm::kOnly, Way::kHalving));
    world.run(1);
    const Values all = sum_of(ranks, count);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(rank * each);
      ASSERT_EQ(buffers.out[rank], Values(from, from + static_cast<std::ptrdiff_t>(each)));
    }
    EXPECT_LE(world.most_peers(), log2_of(ranks) + 1);
  }
}

TEST(Allgather, OfManyRanksGivesAllEverything) {
  for (std::size_t ranks = 2; ranks <= 50; ++ranks) {
    SCOPED_TRACE(ranks);
    Buffers buffers(Opcode::kAllgather, ranks, 2, 2 * ranks, 2);
    PlannedWorld world(nodes_of(ranks));
    world.plan(buffers.requests, by(Algorithm::kOnly, Way::kDoubling));
    world.run(1);
    Values all;
    for (const Values& in : buffers.in) all.insert(all.end(), in.begin(), in.end());
    for (const Values& out : buffers.out) ASSERT_EQ(out, all);
    EXPECT_LE(world.most_peers(), log2_of(ranks) + 1);
  }
}

void check_broadcast(std::size_t ranks, std::size_t root, Way way, std::size_t most_copies) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks from " + std::to_string(root));
  constexpr std::size_t kCount = 9;
  Buffers buffers(Opcode::kBroadcast, ranks, 0, kCount, kCount);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    buffers.requests[rank].root = static_cast<int>(root);
    for (float& value : buffers.out[rank]) value = static_cast<float>(rank);
  }
  PlannedWorld world(nodes_of(ranks, 3));
  world.plan(buffers.requests, by(Algorithm::kOnly, way));
  world.run(1);
  for (const Values& out : buffers.out) ASSERT_EQ(out, Values(kCount, static_cast<float>(root)));
  EXPECT_LE(world.most_sent(), most_copies * kCount * sizeof(float));
}

TEST(Broadcast, AlongEveryTreeReachesAll) {
  for (std::size_t ranks = 2; ranks <= 40; ++ranks) {
    for (const std::size_t root : {std::size_t{0}, ranks / 2, ranks - 1}) {
      check_broadcast(ranks, root, Way::kTree, log2_of(ranks));
      check_broadcast(ranks, root, Way::kBinary, 2);
      check_broadcast(ranks, root, Way::kChain, 1);
    }
  }
}

}  // namespace
}  // namespace dtl::ring::test::many_ranks_test
