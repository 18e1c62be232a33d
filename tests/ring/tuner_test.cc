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

  std::string table(int world, std::size_t nodes) {
    const Trial trial{[this](Algorithm algorithm, std::vector<float>& values) {
                        sums.insert({algorithm, values.size()});
                        const Cost cost = costs.at(algorithm);
                        return cost.call + cost.byte * double(values.size() * sizeof(float));
                      },
                      [this](std::span<float> values) {
                        if (values.size() == 3) values[2] = float(slowest_total);
                      }};
    return Tuner(world, nodes, trial).measure(AlgorithmTable::by_default(world, nodes)).text();
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

TEST(Tuner, OfManyRanksComparesWithDoubling) {
  PretendedRing ring{{{Algorithm::kDoubling, {0, 0}}, {Algorithm::kHalving, {1, 0}}}};
  EXPECT_EQ(ring.table(32, 32), "doubling:0-64K;halving:64K-max");
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
