#include "trainer/layers/relative_bias.h"

#include <gtest/gtest.h>

#include <vector>

namespace dtl::trainer::relative_bias_test {
namespace {

// The first distance of each bucket, as torch computes it (float32, at any length).
TEST(RelativeBucket, BeginsWhereTorchsDoes) {
  std::vector<std::int64_t> firsts;
  for (std::int64_t n = 0; n < 5000; ++n) {
    if (relative_bucket(-n) == std::ssize(firsts)) firsts.push_back(n);
    EXPECT_EQ(relative_bucket(-n), std::ssize(firsts) - 1) << n;
  }
  EXPECT_EQ(firsts,
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}));
}

TEST(RelativeBucket, TellsKeysAfterTheQueryFromThoseBefore) {
  EXPECT_EQ(relative_bucket(0), 0);
  for (std::int64_t n = 1; n < 300; ++n) EXPECT_EQ(relative_bucket(n), 16 + relative_bucket(-n));
}

}  // namespace
}  // namespace dtl::trainer::relative_bias_test
