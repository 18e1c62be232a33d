// The table of algorithms from measured times.
#include "ring/api/tuner.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring::test::tuner_test {
namespace {

// A fake ring with chosen times per call and per byte.
struct PretendedRing {
  struct Cost {
    double call, byte;
  };
  std::map<Algorithm, Cost> costs;
  double slowest_total = 0;  // time that another rank reports
  std::multiset<std::pair<Algorithm, std::size_t>> sums = {};
  LinkCosts links = {};  // as measured

  std::string table(int world, std::size_t nodes) {
    const Trial trial{[this](Algorithm algorithm, std::vector<float>& values) {
                        sums.insert({algorithm, values.size()});
                        const Cost cost = costs[algorithm];
                        return cost.call + cost.byte * double(values.size() * sizeof(float));
                      },
                      [this](std::span<float> values) {
                        if (values.size() == 3) values[2] = float(slowest_total);
                      }};
    const Tuned tuned =
        Tuner(world, nodes, trial).measure(AlgorithmTable::by_default(world, nodes));
    links = tuned.costs;
    return tuned.table.text();
  }
};

// The algorithms take equal time at 48 KiB.
PretendedRing ring_with_border_at_48_kib() {
  const double byte = 1e-9;
  return {{{Algorithm::kOneShot, {0, 2 * byte}},
           {Algorithm::kDirect, {48 * 1024 * byte, byte}},
           {Algorithm::kRing, {1, byte}}}};
}

TEST(Tuner, TakesTheQuickOneUpToTheLastSizeWhereItIsQuicker) {
  EXPECT_EQ(ring_with_border_at_48_kib().table(4, 4), "oneshot:0-32K;direct:32K-max");
}

TEST(Tuner, LooksAtLongerSumsOnOneNode) {
  auto ring = ring_with_border_at_48_kib();
  ring.costs[Algorithm::kDirect].call *= 2;  // equal time at 96 KiB
  EXPECT_EQ(ring.table(4, 4), "oneshot:0-64K;direct:64K-max");
  ring.costs[Algorithm::kDirect].call *= 2;
  EXPECT_EQ(ring.table(4, 4), "oneshot:0-64K;direct:64K-max");
  EXPECT_EQ(ring.table(4, 1), "oneshot:0-128K;direct:128K-max");
}

TEST(Tuner, KeepsTheQuickOneForTheShortestSums) {
  auto ring = ring_with_border_at_48_kib();
  ring.costs[Algorithm::kOneShot].call = 1;
  EXPECT_EQ(ring.table(4, 4), "oneshot:0-4K;direct:4K-max");
}

TEST(Tuner, StopsAfterTwoSizesWithoutGain) {
  auto ring = ring_with_border_at_48_kib();
  ring.costs[Algorithm::kOneShot].call = 1;
  ring.table(2, 2);
  EXPECT_GT(ring.sums.count({Algorithm::kOneShot, 4096}), 0U);  // 16 KiB
  EXPECT_EQ(ring.sums.count({Algorithm::kOneShot, 8192}), 0U);
}

TEST(Tuner, TakesTheRingForLongSumsOfSeveralNodesIfItIsQuicker) {
  auto ring = ring_with_border_at_48_kib();
  ring.costs[Algorithm::kRing] = {0, 1e-12};
  EXPECT_EQ(ring.table(3, 3), "oneshot:0-32K;direct:32K-512K;ring:512K-max");
  EXPECT_EQ(ring.table(2, 2), "oneshot:0-32K;direct:32K-max") << "of two it is the same";
}

// Times that the cost model predicts for some links give these links again.
TEST(Tuner, FindsLatencyAndBandwidthOfTheLinks) {
  for (const WorldShape shape : {WorldShape{2, 2}, {3, 3}, {16, 4}, {32, 32}, {63, 63}, {64, 8}}) {
    SCOPED_TRACE(std::to_string(shape.ranks) + " ranks");
    LinkCosts real;
    set_latency(real, shape, 70e-6);
    set_byte(real, shape, 0.32e-9);
    const Trial trial{[&](Algorithm algorithm, std::vector<float>& values) {
                        return allreduce_time(algorithm, shape, 4 * values.size(), real);
                      },
                      [](std::span<float>) {}};
    const int world = static_cast<int>(shape.ranks);
    const LinkCosts found = Tuner(world, shape.nodes, trial).measure({}).costs;
    EXPECT_TRUE(found.is_measured);
    EXPECT_NEAR(found.latency, real.latency, 1e-7);
    EXPECT_NEAR(found.byte, real.byte, 1e-12);
  }
}

TEST(Tuner, MeasuresSlowLinksOnce) {
  for (const bool is_slow : {false, true}) {
    int sums = 0;
    const Trial trial{[&](Algorithm, std::vector<float>&) {
                        ++sums;
                        return is_slow ? 0.1 : 0.001;
                      },
                      [](std::span<float>) {}};
    Tuner(32, 32, trial).measure({});
    EXPECT_EQ(sums, is_slow ? 2 : 8);
  }
}

TEST(Tuner, OfOneNodeFindsThoseOfSharedMemory) {
  const WorldShape shape{32, 1};
  LinkCosts real;
  real.local_latency = 4e-6;
  real.local_byte = 0.5e-9;
  const Trial trial{[&](Algorithm algorithm, std::vector<float>& values) {
                      return allreduce_time(algorithm, shape, 4 * values.size(), real);
                    },
                    [](std::span<float>) {}};
  const LinkCosts found = Tuner(32, 1, trial).measure({}).costs;
  EXPECT_NEAR(found.local_latency, real.local_latency, 1e-8);
  EXPECT_NEAR(found.local_byte, real.local_byte, 1e-12);
}

TEST(Tuner, OfManyRanksChoosesByTheCostModel) {
  const auto table = [](double latency, double byte) {
    const WorldShape shape{32, 32};
    LinkCosts real;
    set_latency(real, shape, latency);
    set_byte(real, shape, byte);
    const Trial trial{[&](Algorithm algorithm, std::vector<float>& values) {
                        return allreduce_time(algorithm, shape, 4 * values.size(), real);
                      },
                      [](std::span<float>) {}};
    return Tuner(32, 32, trial).measure({}).table;
  };
  // The longer a message takes beside a byte, the longer fewer steps are worth it.
  EXPECT_EQ(table(25e-6, 1e-9).choose(16 << 10), Algorithm::kDoubling);
  EXPECT_EQ(table(25e-6, 1e-9).choose(1 << 20), Algorithm::kHalving);
  EXPECT_EQ(table(2e-6, 1e-9).choose(16 << 10), Algorithm::kHalving);
  EXPECT_EQ(table(2e-3, 1e-9).choose(256 << 10), Algorithm::kDoubling);
}

TEST(Tuner, MeasuresNoMoreWhereOneRankSaysThatItTakesLong) {
  auto ring = ring_with_border_at_48_kib();
  ring.slowest_total = 1;
  EXPECT_EQ(ring.table(4, 4), "oneshot:0-8K;direct:8K-max");
  EXPECT_EQ(ring.sums.count({Algorithm::kOneShot, 4096}), 0U);
  EXPECT_EQ(ring.sums.count({Algorithm::kRing, 1 << 18}), 0U);
}

TEST(Tuner, RepeatsLongOnesLess) {
  auto ring = ring_with_border_at_48_kib();
  ring.table(2, 2);
  EXPECT_EQ(ring.sums.count({Algorithm::kOneShot, 2048}), 10U);
  ring.sums.clear();
  ring.costs[Algorithm::kDirect].call = 1;
  ring.table(2, 2);
  EXPECT_EQ(ring.sums.count({Algorithm::kOneShot, 2048}), 4U);
}

TEST(Tuner, LetsAFailureThrough) {
  Trial trial{[](Algorithm, std::vector<float>&) -> double {
                throw CommError(DT_E_PEER, "rank 1 was lost", {});
              },
              [](std::span<float>) {}};
  Tuner tuner(2, 2, trial);
  EXPECT_THROW(tuner.measure(AlgorithmTable::by_default(2, 2)), CommError);
}

}  // namespace
}  // namespace dtl::ring::test::tuner_test
