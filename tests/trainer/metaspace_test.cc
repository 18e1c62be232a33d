#include "trainer/pieces/metaspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtl::trainer::metaspace_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SplitText split_of(std::u32string_view characters, std::vector<PieceRange> pieces = {}) {
  SplitText split;
  for (const char32_t c : characters) {
    split.text.put(c, static_cast<std::int32_t>(split.text.places.size()));
  }
  split.pieces = std::move(pieces);
  if (split.pieces.empty() && !characters.empty()) split.pieces = {{0, characters.size()}};
  return split;
}

std::vector<std::u32string> pieces_of(const SplitText& split) {
  std::vector<std::u32string> pieces;
  for (const PieceRange& piece : split.pieces) {
    pieces.push_back(split.text.characters.substr(piece.begin, piece.end - piece.begin));
  }
  return pieces;
}

std::vector<std::u32string> split(SplitText text, const MetaspaceRules& rules = {}) {
  Metaspace(rules).pre_tokenize(text);
  return pieces_of(text);
}

TEST(Metaspace, BeginsAPieceAtEachBlank) {
  EXPECT_THAT(split(split_of(U"Hey  you ")), ElementsAre(U"▁Hey", U"▁", U"▁you", U"▁"));
  EXPECT_THAT(split(split_of(U"")), IsEmpty());
}

TEST(Metaspace, DoesNotPrependTwice) {
  EXPECT_THAT(split(split_of(U" a")), ElementsAre(U"▁a"));
  EXPECT_THAT(split(split_of(U"▁a▁b")), ElementsAre(U"▁a", U"▁b"));
}

TEST(Metaspace, PrependsByItsScheme) {
  const auto words = [] { return split_of(U"ab cd", {{0, 2}, {3, 5}}); };
  EXPECT_THAT(split(words(), {.prepend = PrependScheme::kAlways}), ElementsAre(U"▁ab", U"▁cd"));
  EXPECT_THAT(split(words(), {.prepend = PrependScheme::kFirst}), ElementsAre(U"▁ab", U"cd"));
  EXPECT_THAT(split(words(), {.prepend = PrependScheme::kNever}), ElementsAre(U"ab", U"cd"));
}

TEST(Metaspace, ReplacesWithoutSplitting) {
  EXPECT_THAT(split(split_of(U"a b"), {.replacement = U'_', .split = false}), ElementsAre(U"_a_b"));
}

TEST(Metaspace, GivesWhatItPrependsThePlaceOfTheFirstCharacter) {
  SplitText text = split_of(U"ab cd", {{0, 2}, {3, 5}});
  Metaspace({}).pre_tokenize(text);
  EXPECT_THAT(text.text.places, ElementsAre(0, 0, 1, 3, 3, 4));
}

}  // namespace
}  // namespace dtl::trainer::metaspace_test
