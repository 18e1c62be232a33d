#include "base/text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dtl {
namespace {

TEST(ParseInteger, TakesWholeNumbersInRangeOnly) {
  EXPECT_EQ(parse_integer("12", 1, 20), 12);
  EXPECT_FALSE(parse_integer("21", 1, 20));
  EXPECT_FALSE(parse_integer("-1", -5, 20));
  EXPECT_FALSE(parse_integer("1x", 0, 20));
  EXPECT_FALSE(parse_integer("", 0, 20));
  EXPECT_FALSE(parse_integer("99999999999999999999", 0, INT64_MAX));
}

TEST(Nearest, FindsATypoAndRefusesAStranger) {
  const std::vector<std::string> known = {"hostfile", "timeout", "report"};
  EXPECT_EQ(nearest("hostfiel", known), "hostfile");
  EXPECT_EQ(nearest("xyz", known), "");
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
}

TEST(Trim, RemovesBlanksAndLineEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(FindInvalidUtf8, AcceptsEveryLength) {
  EXPECT_EQ(find_invalid_utf8("a\xc3\xb6\xe2\x82\xac\xf0\x9f\x99\x82\xf4\x8f\xbf\xbf"),
            std::string_view::npos);
}

TEST(FindInvalidUtf8, PointsAtTheFirstByteThatIsNone) {
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(find_invalid_utf8("a\xc3"), 1u);             // cut off
  EXPECT_EQ(find_invalid_utf8("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("\xe0\x9f\xbf"), 0u);      // overlong
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u);      // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(find_invalid_utf8("\xe2\x82\x41"), 0u);      // a wrong continuation
}

TEST(SignalName, IsTheSymbol) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
}

TEST(LooksSecret, MasksTokensAndKeysOnly) {
  EXPECT_TRUE(looks_secret("HF_TOKEN"));
  EXPECT_TRUE(looks_secret("aws_secret_access_key"));
  EXPECT_FALSE(looks_secret("OMP_NUM_THREADS"));
}

}  // namespace
}  // namespace dtl
