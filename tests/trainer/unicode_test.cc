#include "trainer/pieces/unicode.h"

#include <gtest/gtest.h>

namespace dtl::trainer::unicode_test {
namespace {

std::u32string read_all(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) result.push_back(next_code_point(text, at));
  return result;
}

std::u32string decompose(std::u32string_view text) {
  std::u32string result;
  for (const DecomposedCharacter& part : decompose_parts(text)) result.push_back(part.character);
  return result;
}

TEST(Unicode, ReadsOneToFourBytes) {
  EXPECT_EQ(read_all("a\u00e9\u20ac\U0001F600"), U"a\u00e9\u20ac\U0001F600");
}

TEST(Unicode, ReplacesEachBrokenPrefixOnce) {
  EXPECT_EQ(read_all("a\x80z"), U"a\uFFFDz");
  EXPECT_EQ(read_all("\xE2\x82z"), U"\uFFFDz");                // cut short
  EXPECT_EQ(read_all("\xC0\xAF"), U"\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(read_all("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(read_all("\xF4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(read_all("\xF0\x9F\x98"), U"\uFFFD");
}

TEST(Unicode, WritesWhatItReads) {
  for (char32_t c = 1; c < 0x110000; c += 97) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(read_all(text), std::u32string(1, c));
  }
}

TEST(Unicode, TellsControlsFromBlanks) {
  EXPECT_TRUE(is_control(0x0B) && is_control(0x200B) && is_control(0xAD) && is_control(0xE000));
  EXPECT_FALSE(is_control('\t') || is_control('\n') || is_control('\r') || is_control(0x378));
  EXPECT_TRUE(is_white_space(0xA0) && is_white_space(0x3000) && is_white_space(0x2028));
  EXPECT_FALSE(is_white_space(0x200B));
}

TEST(Unicode, CountsAsciiSymbolsAsPunctuationButNotTheEuro) {
  EXPECT_TRUE(is_punctuation('$') && is_punctuation('`') && is_punctuation(0x2019));
  EXPECT_FALSE(is_punctuation(0x20AC) || is_punctuation('0') || is_punctuation(0x1F600));
}

TEST(Unicode, DecomposesInCanonicalOrder) {
  EXPECT_EQ(decompose(U"\u00e9"), U"e\u0301");
  EXPECT_EQ(decompose(U"q\u0307\u0323"), U"q\u0323\u0307");
  EXPECT_EQ(decompose(U"\uAC01"), U"\u1100\u1161\u11A8");
  EXPECT_EQ(decompose(U"\u1E69"), U"s\u0323\u0307");
}

TEST(Unicode, LowersTheDottedCapitalToTwoCharacters) {
  std::u32string text;
  append_lower(text, 0x130);
  append_lower(text, U'\u03A3');
  append_lower(text, U'\u1E9E');
  EXPECT_EQ(text, U"i\u0307\u03C3\u00DF");
}

}  // namespace
}  // namespace dtl::trainer::unicode_test
