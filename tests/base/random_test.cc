#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace dtl::random_test {
namespace {

TEST(Random, FillsEveryByteAskedFor) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(random_bytes(16, "test"));
  EXPECT_EQ(seen.size(), 100u);
  // An unfilled byte stays 0. Of 4096 random bytes, 100 zeros are far beyond chance.
  const std::string many = random_bytes(4096, "test");
  EXPECT_LT(std::count(many.begin(), many.end(), '\0'), 100);
}

TEST(Random, GivesNumbersThatTheStandardsDistributionsTake) {
  RandomNumbers numbers;
  std::set<int> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(std::uniform_int_distribution<int>(1, 6)(numbers));
  EXPECT_EQ(seen, (std::set<int>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace dtl::random_test
