#include "trainer/pieces/token_ids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dtl::trainer {
namespace {

TEST(TokenIds, FindsEachTokenAndNoOther) {
  std::vector<std::string> vocabulary;
  for (int i = 0; i < 1000; ++i) vocabulary.push_back("token " + std::to_string(i));
  const TokenIds ids(vocabulary);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ids.of("token " + std::to_string(i)), i);
  for (int i = 1000; i < 2000; ++i) EXPECT_EQ(ids.of("token " + std::to_string(i)), -1);
  EXPECT_EQ(ids.distinct(), 1000U);
}

TEST(TokenIds, SkipsGapsAndCountsEqualTokensOnce) {
  const std::vector<std::string> vocabulary = {"a", "", "b", "a", ""};
  const TokenIds ids(vocabulary);
  EXPECT_EQ(ids.of("a"), 3);
  EXPECT_EQ(ids.of("b"), 2);
  EXPECT_EQ(ids.of(""), -1);
  EXPECT_EQ(ids.distinct(), 2U);
  const std::vector<std::string> empty;
  EXPECT_EQ(TokenIds(empty).of("a"), -1);
}

}  // namespace
}  // namespace dtl::trainer
