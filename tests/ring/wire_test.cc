// Values that travel as bf16 or f16: their error bounds, and that all ranks have the same error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>

#include "ring/arithmetic/reduce.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::wire_test {
namespace {

using Values = std::vector<float>;
using Bounds = std::vector<double>;

struct Case {
  int world, per_node, wire;
  const char* algorithm;
};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::to_string(info.param.world) + "By" + std::to_string(info.param.per_node) +
         (info.param.wire == DT_WIRE_BF16 ? "Bf16" : "F16") + info.param.algorithm;
}

void run(const Case& which, const std::function<void(dt_options&)>& adjust, const Body& body) {
  const auto all = [&](dt_options& options) {
    options.allreduce = which.algorithm;
    if (adjust) adjust(options);
  };
  if (which.per_node == 1) return run_ranks(which.world, {}, all, body);
  run_nodes(which.world, which.per_node, all, body);
}

// Half a unit in the last place, relative: for 8 and 11 significant bits.
double unit_of(int wire) {
  return wire == DT_WIRE_BF16 ? 1.0 / 256 : 1.0 / 2048;
}

Values random_values(int rank, std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed * 1000 + static_cast<unsigned>(rank));
  std::normal_distribution<float> normal;
  Values values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Error bounds: the rounding of every node's sum and of the result. A ring rounds partial sums from
// some node on; which one is unspecified.
Bounds bounds_of(const Case& which, std::size_t count) {
  std::vector<Values> of_nodes;
  for (int rank = 0; rank < which.world; ++rank) {
    if (rank % which.per_node == 0) of_nodes.emplace_back(count, 0.0F);
    const Values own = random_values(rank, count);
    for (std::size_t i = 0; i < count; ++i) of_nodes.back()[i] += own[i];
  }
  const bool is_ring = std::string(which.algorithm) == "ring" && of_nodes.size() > 2;
  // Halving rounds partial sums once for each bit of the number of nodes.
  const bool is_halving = std::string(which.algorithm) == "halving";
  const auto times = is_halving ? static_cast<double>(std::bit_width(of_nodes.size() - 1)) : 1.0;
  Bounds bounds(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t nodes = of_nodes.size();
    double sum = 0, sizes = 0, most = 0;
    for (const Values& values : of_nodes) {
      sum += values[i];
      sizes += std::abs(values[i]);
    }
    for (std::size_t first = 0; first < nodes; ++first) {
      double so_far = 0, rounded = 0;
      for (std::size_t k = 0; k + 1 < nodes; ++k) {
        so_far += of_nodes[(first + k) % nodes][i];
        rounded += std::abs(so_far);
      }
      most = std::max(most, rounded);
    }
    // 1.02: rounding of rounded values. f32 adds little, f16 has denormals.
    bounds[i] = 1.02 * unit_of(which.wire) * ((is_ring ? most : times * sizes) + std::abs(sum)) +
                1e-6 * sizes + (which.wire == DT_WIRE_F16 ? which.world * 6e-8 : 0);
  }
  return bounds;
}

int sum(dt_comm* comm, Values& values, int wire, int op = DT_SUM) {
  dt_work work = 0;
  const int status =
      dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, op, wire, 0, &work);
  return wait_for(comm, status, work);
}

bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

class Wired : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Of, Wired,
    ::testing::Values(Case{2, 1, DT_WIRE_BF16, "direct"}, Case{3, 1, DT_WIRE_BF16, "direct"},
                      Case{4, 1, DT_WIRE_BF16, "direct"}, Case{8, 1, DT_WIRE_BF16, "direct"},
                      Case{3, 1, DT_WIRE_BF16, "ring"}, Case{4, 1, DT_WIRE_BF16, "ring"},
                      Case{8, 1, DT_WIRE_BF16, "ring"}, Case{4, 1, DT_WIRE_F16, "direct"},
                      Case{4, 1, DT_WIRE_F16, "ring"}, Case{4, 2, DT_WIRE_BF16, "direct"},
                      Case{6, 2, DT_WIRE_BF16, "ring"}, Case{5, 2, DT_WIRE_F16, "direct"},
                      Case{5, 1, DT_WIRE_BF16, "halving"}, Case{8, 1, DT_WIRE_F16, "halving"},
                      Case{6, 2, DT_WIRE_BF16, "halving"}),
    name_of);

TEST_P(Wired, SumsAreWithinTheBoundsAndTheSameOnAllRanks) {
  const Case which = GetParam();
  constexpr std::size_t kCount = 50021;
  std::mutex mutex;
  std::vector<Values> results(static_cast<std::size_t>(which.world));
  run(which, {}, [&](dt_comm* comm, int rank) {
    Values values = random_values(rank, kCount);
    ASSERT_EQ(sum(comm, values, which.wire), DT_OK) << last_error(comm);
    const std::lock_guard lock(mutex);
    results[static_cast<std::size_t>(rank)] = values;
  });
  std::vector<double> exact(kCount);
  for (int rank = 0; rank < which.world; ++rank) {
    const Values own = random_values(rank, kCount);
    for (std::size_t i = 0; i < kCount; ++i) exact[i] += own[i];
    EXPECT_TRUE(same_bits(results[static_cast<std::size_t>(rank)], results[0])) << rank;
  }
  const Bounds bounds = bounds_of(which, kCount);
  std::size_t inexact = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double error = std::abs(results[0][i] - exact[i]);
    ASSERT_LE(error, bounds[i]) << i;
    inexact += error > 1e-5 ? 1 : 0;
  }
  EXPECT_GT(inexact, kCount / 2) << "it did travel as 16 bits";
}

TEST_P(Wired, ValuesThatFitAreExactAndOthersKeepTheirKind) {
  const Case which = GetParam();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Values special{kNan, kInfinity, -kInfinity, -0.0F, 0.0F};
  run(which, {}, [&](dt_comm* comm, int rank) {
    const auto world = static_cast<float>(which.world);
    Values values(40009);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 9) - 4;
    const Values before = values;
    ASSERT_EQ(sum(comm, values, which.wire), DT_OK) << last_error(comm);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], world * before[i]);
    values = before;
    ASSERT_EQ(sum(comm, values, which.wire, DT_AVG), DT_OK) << last_error(comm);
    EXPECT_EQ(values, before);

    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = i % 6 == 5 ? static_cast<float>(rank == 1) * kNan : special[i % 6];
    }
    ASSERT_EQ(sum(comm, values, which.wire), DT_OK) << last_error(comm);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 6 == 0 || i % 6 == 5) {
        ASSERT_TRUE(std::isnan(values[i])) << i << ": " << values[i];
      } else {
        ASSERT_EQ(values[i], special[i % 6]) << i;
      }
    }
    EXPECT_TRUE(std::signbit(values[3]));
    EXPECT_FALSE(std::signbit(values[4]));
  });
}

TEST_P(Wired, ReduceScatterIsWithinTheBounds) {
  Case which = GetParam();
  const auto ranks = static_cast<std::size_t>(which.world);
  const std::size_t each = 5003, count = each * ranks;
  const Values all = [&] {
    Values values(count);
    for (int rank = 0; rank < which.world; ++rank) {
      const Values own = random_values(rank, count);
      for (std::size_t i = 0; i < count; ++i) values[i] += own[i];
    }
    return values;
  }();
  const Bounds bounds = bounds_of({which.world, 1, which.wire, "direct"}, count);
  run(which, {}, [&](dt_comm* comm, int rank) {
    const Values in = random_values(rank, count);
    Values out(each);
    dt_work work = 0;
    const int status =
        dt_reduce_scatter(comm, in.data(), out.data(), each, DT_F32, DT_SUM, which.wire, 0, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK) << last_error(comm);
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t at = static_cast<std::size_t>(rank) * each + i;
      ASSERT_NEAR(out[i], all[at], bounds[at] + 1e-5) << at;
    }
  });
}

std::uint64_t bytes_sent(dt_comm* comm) {
  std::array<char, 4096> json{};
  EXPECT_GT(dt_stats_json(comm, json.data(), json.size()), 0);
  const char* at = std::strstr(json.data(), "\"bytes_sent\":");
  return at == nullptr ? 0 : std::strtoull(at + std::strlen("\"bytes_sent\":"), nullptr, 10);
}

TEST(Wire, SixteenBitsAreHalfTheBytes) {
  for (const int wire : {DT_WIRE_BF16, DT_WIRE_F16}) {
    const auto adjust = [](dt_options& options) { options.allreduce = "direct"; };
    run_ranks(3, {}, adjust, [wire](dt_comm* comm, int) {
      Values values(300000);
      const std::uint64_t before = bytes_sent(comm);
      ASSERT_EQ(sum(comm, values, DT_WIRE_EXACT), DT_OK);
      const std::uint64_t exact = bytes_sent(comm);
      ASSERT_EQ(sum(comm, values, wire), DT_OK);
      const std::uint64_t half = bytes_sent(comm);
      EXPECT_EQ(exact - before, 4u * 4 * 300000 / 3);  // 2(n-1)/n times 4 bytes each
      EXPECT_EQ(2 * (half - exact), exact - before);
    });
  }
}

TEST(Wire, OfTheOptionsHoldsWhereACallGivesNoneAndRankZeroDecides) {
  const auto adjust = [](dt_options& options) {
    options.wire = options.rank == 0 ? DT_WIRE_BF16 : DT_WIRE_EXACT;
    options.allreduce = "direct";
  };
  run_ranks(2, {}, adjust, [](dt_comm* comm, int) {
    Values values(30000, 1.001F), exact = values;
    ASSERT_EQ(sum(comm, values, DT_WIRE_DEFAULT), DT_OK);
    EXPECT_EQ(values, Values(30000, 2.0F));
    ASSERT_EQ(sum(comm, exact, DT_WIRE_EXACT), DT_OK);
    EXPECT_EQ(exact, Values(30000, 2.002F));
  });
}

TEST(Wire, DoesNotTouchWhatItIsNotFor) {
  const auto adjust = [](dt_options& options) {
    options.wire = DT_WIRE_BF16;
    options.allreduce = "oneshot:0-1K;direct:1K-max";
  };
  run_ranks(3, {}, adjust, [](dt_comm* comm, int rank) {
    Values small(200, 1.001F);  // one shot
    ASSERT_EQ(sum(comm, small, DT_WIRE_BF16), DT_OK);
    EXPECT_EQ(small, Values(200, 1.001F + 1.001F + 1.001F));
    Values most(20000, 1.0F + 0.001F * static_cast<float>(rank));
    ASSERT_EQ(sum(comm, most, DT_WIRE_BF16, DT_MAX), DT_OK);
    EXPECT_EQ(most, Values(20000, 1.0F + 0.001F * 2.0F));
    std::vector<std::int32_t> whole(20000, 123457);
    std::vector<double> wide(20000, 1.0 / 3);
    dt_work work = 0;
    int status = dt_allreduce(comm, whole.data(), whole.data(), whole.size(), DT_I32, DT_SUM,
                              DT_WIRE_BF16, 0, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK);
    EXPECT_EQ(whole, std::vector<std::int32_t>(20000, 3 * 123457));
    status = dt_allreduce(comm, wide.data(), wide.data(), wide.size(), DT_F64, DT_SUM, DT_WIRE_F16,
                          0, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK);
    EXPECT_EQ(wide, std::vector<double>(20000, 1.0 / 3 + 1.0 / 3 + 1.0 / 3));
    Values copied(20000, 1.001F);
    status = dt_broadcast(comm, copied.data(), copied.size(), DT_F32, 1, 0, &work);
    ASSERT_EQ(wait_for(comm, status, work), DT_OK);
    EXPECT_EQ(copied, Values(20000, 1.001F));
  });
}

TEST(Wire, UnknownOnesAreRefused) {
  run_ranks(1, [](dt_comm* comm, int) {
    Values values(4);
    EXPECT_EQ(sum(comm, values, 4), DT_E_INVAL);
    EXPECT_EQ(sum(comm, values, -1), DT_E_INVAL);
  });
}

}  // namespace
}  // namespace dtl::ring::test::wire_test
