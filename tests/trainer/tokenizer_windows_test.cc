#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/trainer/token_spans.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer::tokenizer_windows_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Ids: 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], then as listed.
Tokenizer letters() {
  return Tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "##b", "e", "\u4E2D", "?"},
                   true);
}

constexpr Offset kNone{};

Offset at(std::int32_t begin, std::int32_t end) {
  return {begin, end};
}

TEST(TokenizerSpans, CountsCodePointsOfTheOriginal) {
  const TokenSpans spans = token_spans(letters(), "\u00e9 ab");
  EXPECT_THAT(spans.ids, ElementsAre(8, 4, 7));
  EXPECT_THAT(spans.offsets, ElementsAre(at(0, 1), at(2, 3), at(3, 4)));
}

TEST(TokenizerSpans, LeavesStrippedMarksOutAtTheEndOfAToken) {
  EXPECT_THAT(token_spans(letters(), "e\u0301 a").offsets, ElementsAre(at(0, 1), at(3, 4)));
}

TEST(TokenizerSpans, CoversDeletedCharactersInsideAToken) {
  const TokenSpans spans = token_spans(letters(), "\uFEFFa\u200B\u00ADb");
  EXPECT_THAT(spans.ids, ElementsAre(4, 7));
  EXPECT_THAT(spans.offsets, ElementsAre(at(1, 2), at(4, 5)));
}

TEST(TokenizerSpans, PlacesIdeographsSpecialTokensAndUnknownWords) {
  const TokenSpans spans = token_spans(letters(), "a\u4E2D[SEP]xyz?");
  EXPECT_THAT(spans.ids, ElementsAre(4, 9, 3, 1, 10));
  EXPECT_THAT(spans.offsets, ElementsAre(at(0, 1), at(1, 2), at(2, 7), at(7, 10), at(10, 11)));
}

TEST(TokenizerWindows, HasOneWindowWhenAllFits) {
  const std::vector<Window> windows = letters().encode_question(" \n a?", "b c", 8, 2);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 4, 10, 3, 5, 6, 3));
  EXPECT_THAT(windows[0].types, ElementsAre(0, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(windows[0].offsets,
              ElementsAre(kNone, kNone, kNone, kNone, at(0, 1), at(2, 3), kNone));
}

TEST(TokenizerWindows, RepeatsStrideTokensOfTheWindowBefore) {
  const std::vector<Window> windows = letters().encode_question("a", "a b c a b c", 8, 2);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 4, 3, 4, 5, 6, 4, 3));
  EXPECT_THAT(windows[1].ids, ElementsAre(2, 4, 3, 6, 4, 5, 6, 3));
  EXPECT_EQ(windows[1].offsets[3], at(4, 5));
}

TEST(TokenizerWindows, StopsWithTheWindowThatReachesTheEnd) {
  EXPECT_EQ(letters().encode_question("a", "a b c a", 8, 3).size(), 1u);
  EXPECT_EQ(letters().encode_question("a", "a b c a b", 8, 3).size(), 2u);
}

TEST(TokenizerWindows, AcceptsAnEmptyContext) {
  const std::vector<Window> windows = letters().encode_question("a b c", "", 6, 2);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 4, 5, 6, 3, 3));
}

TEST(TokenizerWindows, RefusesAQuestionThatLeavesNoRoom) {
  for (const int max_length : {4, 6, 8}) {
    try {
      letters().encode_question("a b c", "a b c a b", max_length, 2);
      FAIL() << "accepted " << max_length;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr("--doc_stride"));
    }
  }
  EXPECT_EQ(letters().encode_question("a b c", "a b c a b", 9, 2).size(), 3u);
}

}  // namespace
}  // namespace dtl::trainer::tokenizer_windows_test
