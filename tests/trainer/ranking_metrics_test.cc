#include "trainer/data/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dtl::trainer::ranking_metrics_test {
namespace {

using testing::ElementsAre;

const std::vector<RankedPassage> kSecond = {{0.5, true}, {0.9, false}, {0.1, false}};

TEST(RankingMetrics, AreThoseOfTheDefinition) {
  EXPECT_EQ(reciprocal_rank(kSecond, 10), 0.5);
  EXPECT_EQ(average_precision(kSecond), 0.5);
  EXPECT_NEAR(ndcg(kSecond, 10), 1 / std::log2(3.0), 1e-15);
  EXPECT_THAT(places(kSecond), ElementsAre(2, 1, 3));
}

TEST(RankingMetrics, LookAtTheFirstPlacesOnly) {
  EXPECT_EQ(reciprocal_rank(kSecond, 1), 0);
  EXPECT_EQ(ndcg(kSecond, 1), 0);
}

// A model that gives every passage the same score has ranked nothing.
TEST(RankingMetrics, TakeNothingFromTheOrderOfEqualScores) {
  const std::vector<RankedPassage> equal = {{1, true}, {1, false}};
  EXPECT_EQ(reciprocal_rank(equal, 10), 0.5);
  EXPECT_EQ(average_precision(equal), 0.5);
  EXPECT_NEAR(ndcg(equal, 10), (1 + 1 / std::log2(3.0)) / 2, 1e-15);
}

TEST(RankingMetrics, AreZeroWithoutARelevantPassage) {
  const std::vector<RankedPassage> none = {{1, false}, {2, false}};
  EXPECT_EQ(reciprocal_rank(none, 10), 0);
  EXPECT_EQ(average_precision(none), 0);
  EXPECT_EQ(ndcg(none, 10), 0);
  EXPECT_EQ(ndcg({}, 10), 0);
}

}  // namespace
}  // namespace dtl::trainer::ranking_metrics_test
