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

}  // namespace
}  // namespace dtl::ring::test::many_ranks_test
