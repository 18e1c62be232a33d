// Equal values give equal bits: on all ranks, every time, however the work is arranged.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <thread>

#include "tests/ring/ring_support.h"

namespace dtl::ring::test::determinism_test {
namespace {

using Values = std::vector<float>;

// Of very different magnitudes, so that another order of summing gives other bits.
Values input_of(int rank, std::size_t count, std::size_t from = 0) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = (from + i + 1) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(rank);
    x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
    x ^= x >> 32;
    values[i] =
        std::ldexp(static_cast<float>(x % 20001) - 10000.0F, static_cast<int>(x >> 40) % 20);
  }
  return values;
}

Values in_order_of_rank(int world, std::size_t count, std::size_t from = 0) {
  Values sum = input_of(0, count, from);
  for (int rank = 1; rank < world; ++rank) {
    const Values own = input_of(rank, count, from);
    for (std::size_t i = 0; i < count; ++i) sum[i] += own[i];
  }
  return sum;
}

bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

struct Way {
  int world = 5, per_node = 1, streams = 1;
  const char* algorithm = nullptr;
  std::uint32_t flags = 0;
  bool is_in_place = true;
  int most_delay_us = 0;
  int wire = DT_WIRE_EXACT;
};

void run(const Way& way, const Body& body) {
  const auto adjust = [&](dt_options& options) {
    options.streams = way.streams;
    options.allreduce = way.algorithm;
    options.flags = way.flags;
    options.wire = way.wire;
  };
  if (way.per_node == 1) return run_ranks(way.world, {}, adjust, body);
  run_nodes(way.world, way.per_node, adjust, body);
}

Values sum_by(dt_comm* comm, Values values, bool is_in_place = true) {
  Values out(is_in_place ? 0 : values.size());
  float* target = is_in_place ? values.data() : out.data();
  dt_work work = 0;
  const int status = dt_allreduce(comm, values.data(), target, values.size(), DT_F32, DT_SUM,
                                  DT_WIRE_DEFAULT, 0, &work);
  EXPECT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
  return is_in_place ? values : out;
}

// The sum; checks that all ranks have the same.
Values sum_of(const Way& way, std::size_t count) {
  std::mutex mutex;
  std::vector<Values> results;
  run(way, [&](dt_comm* comm, int rank) {
    std::mt19937 random(static_cast<unsigned>(rank + way.streams));
    const Values in = input_of(rank, count);
    if (way.most_delay_us > 0) {
      const auto most = static_cast<unsigned>(way.most_delay_us);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % most));
    }
    Values sum = sum_by(comm, in, way.is_in_place);
    const std::lock_guard lock(mutex);
    results.push_back(std::move(sum));
  });
  for (const Values& result : results) EXPECT_TRUE(same_bits(result, results[0]));
  return results.empty() ? Values{} : results[0];
}

class ByAlgorithm : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, ByAlgorithm,
                         ::testing::Values("oneshot", "doubling", "leaders", "halving", "groups",
                                           "direct", "ring"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(ByAlgorithm, BitsDoNotDependOnStreamsDelaysAndPlace) {
  for (const std::size_t count : {std::size_t{1000}, std::size_t{300007}}) {
    Way way;
    way.algorithm = GetParam();
    const Values usual = sum_of(way, count);
    for (const int streams : {1, 2, 5}) {
      way.streams = streams;
      way.is_in_place = streams == 2;
      way.most_delay_us = streams == 1 ? 0 : 5000;
      EXPECT_TRUE(same_bits(sum_of(way, count), usual)) << count << ", " << streams << " streams";
    }
  }
}

TEST_P(ByAlgorithm, BitsOnNodesAreTheSameEveryTime) {
  Way way;
  way.algorithm = GetParam();
  way.world = 6;
  way.per_node = 3;
  const Values usual = sum_of(way, 100003);
  way.most_delay_us = 3000;
  way.is_in_place = false;
  way.streams = 3;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(sum_of(way, 100003), usual));
}

// If every rank computes the sum itself, all must use the same order.
TEST_P(ByAlgorithm, ZerosAndNansAreTheSameOnAllRanks) {
  for (const int world : {2, 3, 4}) {
    for (const int op : {DT_SUM, DT_MIN, DT_MAX, DT_PROD}) {
      std::mutex mutex;
      std::vector<Values> results;
      Way way;
      way.algorithm = GetParam();
      way.world = world;
      run(way, [&](dt_comm* comm, int rank) {
        Values values(64, rank == world - 1 ? -0.0F : 0.0F);
        for (std::size_t i = 0; i < 64; i += 2) {
          const std::uint32_t bits = 0x7FC00000u + static_cast<std::uint32_t>(rank + 1);
          std::memcpy(&values[i], &bits, sizeof bits);
        }
        if (rank == 0) values[33] = -0.0F;
        dt_work work = 0;
        const int status = dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32,
                                        op, DT_WIRE_EXACT, 0, &work);
        ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
        const std::lock_guard lock(mutex);
        results.push_back(values);
      });
      for (const Values& result : results) {
        EXPECT_TRUE(same_bits(result, results[0])) << world << " ranks, operation " << op;
      }
    }
  }
}

class Deterministic : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Of, Deterministic,
                         ::testing::Values(Way{2}, Way{3}, Way{5}, Way{4, 2}, Way{6, 3, 2},
                                           Way{5, 2, 1, "ring"}, Way{5, 1, 2, "ring"},
                                           Way{4, 4, 1, "direct"}, Way{5, 5, 1, "doubling"},
                                           Way{3, 1, 1, "oneshot"}, Way{17}, Way{18, 6}),
                         [](const auto& tested) {
                           const Way& way = tested.param;
                           return std::to_string(way.world) + "By" + std::to_string(way.per_node) +
                                  (way.algorithm == nullptr ? "" : way.algorithm);
                         });

TEST_P(Deterministic, SumsAreThoseInOrderOfRank) {
  Way way = GetParam();
  way.flags = DT_DETERMINISTIC;
  for (const std::size_t count : {std::size_t{1}, std::size_t{777}, std::size_t{150001}}) {
    const Values expected = in_order_of_rank(way.world, count);
    EXPECT_TRUE(same_bits(sum_of(way, count), expected)) << count;
    way.is_in_place = !way.is_in_place;
  }
}

TEST_P(Deterministic, AnElementDoesNotDependOnItsTensor) {
  Way way = GetParam();
  way.flags = DT_DETERMINISTIC;
  run(way, [&](dt_comm* comm, int rank) {
    constexpr std::size_t kAll = 40000;
    const Values whole = sum_by(comm, input_of(rank, kAll));
    std::size_t from = 0;
    for (const std::size_t count : {1, 7, 4096, 8191, 8193, 19512}) {  // 40,000 in all
      const Values part = sum_by(comm, input_of(rank, count, from));
      EXPECT_TRUE(same_bits(part, {whole.begin() + static_cast<std::ptrdiff_t>(from),
                                   whole.begin() + static_cast<std::ptrdiff_t>(from + count)}))
          << count << " from " << from;
      from += count;
    }
    EXPECT_EQ(from, kAll);
    EXPECT_TRUE(same_bits(whole, in_order_of_rank(way.world, kAll)));
  });
}

TEST_P(Deterministic, ReduceScatterIsInOrderOfRankToo) {
  Way way = GetParam();
  way.flags = DT_DETERMINISTIC;
  run(way, [&](dt_comm* comm, int rank) {
    const std::size_t each = 3001, world = static_cast<std::size_t>(way.world);
    const Values in = input_of(rank, each * world), all = in_order_of_rank(way.world, each * world);
    Values out(each);
    dt_work work = 0;
    const int status = dt_reduce_scatter(comm, in.data(), out.data(), each, DT_F32, DT_SUM,
                                         DT_WIRE_DEFAULT, 0, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(each) * rank;
    EXPECT_TRUE(same_bits(out, {from, from + static_cast<std::ptrdiff_t>(each)}));
  });
}

// Short and long sums use the same format, so a result does not show which one it came from.
TEST(Determinism, WithSixteenBitsAnElementDoesNotDependOnItsTensorEither) {
  Way way;
  way.world = 4;
  way.flags = DT_DETERMINISTIC;
  way.wire = DT_WIRE_BF16;
  run(way, [](dt_comm* comm, int rank) {
    const Values whole = sum_by(comm, input_of(rank, 30000)),
                 part = sum_by(comm, input_of(rank, 50));
    EXPECT_TRUE(same_bits(part, {whole.begin(), whole.begin() + 50}));
  });
}

}  // namespace
}  // namespace dtl::ring::test::determinism_test
