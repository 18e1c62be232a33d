#include "trainer/pieces/unigram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>
#include <unordered_map>
#include <utility>

namespace dtl::trainer::unigram_test {
namespace {

using testing::ElementsAre;
using Scored = std::vector<std::pair<std::string, double>>;
using Token = PieceToken;

Unigram model_of(const Scored& vocabulary, bool byte_fallback = false) {
  std::vector<std::string> pieces;
  std::vector<double> scores;
  for (const auto& [piece, score] : vocabulary) {
    pieces.push_back(piece);
    scores.push_back(score);
  }
  return {pieces, scores, 0, byte_fallback};
}

std::vector<PieceToken> tokens_of(const Unigram& model, std::string_view text) {
  std::vector<PieceToken> tokens;
  model.add_tokens(text, tokens);
  return tokens;
}

TEST(Unigram, TakesTheMostProbablePathNotTheLongestPiece) {
  const Unigram model =
      model_of({{"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -5}, {"bc", -1}, {"c", -9}});
  EXPECT_THAT(tokens_of(model, "ab"), ElementsAre(Token{1, 0, 1}, Token{2, 1, 2}));
  EXPECT_THAT(tokens_of(model, "abc"), ElementsAre(Token{1, 0, 1}, Token{4, 1, 3}));
}

TEST(Unigram, KeepsTheLongerLastPieceOfEqualPaths) {
  const Unigram model = model_of({{"<unk>", 0}, {"a", -1}, {"aa", -2}});
  EXPECT_THAT(tokens_of(model, "aa"), ElementsAre(Token{2, 0, 2}));
  EXPECT_THAT(tokens_of(model, "aaa"), ElementsAre(Token{1, 0, 1}, Token{2, 1, 3}));
}

TEST(Unigram, JoinsUnknownNeighbours) {
  const Unigram model = model_of({{"<unk>", 0}, {"a", -1}});
  EXPECT_THAT(tokens_of(model, "xyaé\u20ac"),
              ElementsAre(Token{0, 0, 2}, Token{1, 2, 3}, Token{0, 3, 8}));
}

TEST(Unigram, PrefersAnyPieceToAnUnknownCharacter) {
  const Unigram model = model_of({{"<unk>", 0}, {"a", -1}, {"xy", -99}});
  EXPECT_THAT(tokens_of(model, "axy"), ElementsAre(Token{1, 0, 1}, Token{2, 1, 3}));
}

// With positive scores, unknown characters are worth more than the piece that they form.
TEST(Unigram, LooksUpJoinedUnknownCharacters) {
  const Unigram model = model_of({{"<unk>", 100}, {"xy", 101}});
  EXPECT_THAT(tokens_of(model, "xy"), ElementsAre(Token{1, 0, 2}));
  EXPECT_THAT(tokens_of(model, "xyz"), ElementsAre(Token{0, 0, 3}));
}

TEST(Unigram, CountsTheLastOfEqualPieces) {
  const Unigram model = model_of({{"<unk>", 0}, {"a", -1}, {"b", -1}, {"a", -3}});
  EXPECT_THAT(tokens_of(model, "ab"), ElementsAre(Token{3, 0, 1}, Token{2, 1, 2}));
}

TEST(Unigram, SpellsUnknownTextInBytes) {
  Scored vocabulary = {{"<unk>", 0}, {"a", -1}};
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.emplace_back(fmt::format("<0x{:02X}>", byte), -1);
  EXPECT_THAT(tokens_of(model_of(vocabulary, true), "aé"),
              ElementsAre(Token{1, 0, 1}, Token{2 + 0xC3, 1, 3}, Token{2 + 0xA9, 1, 3}));
  EXPECT_THAT(tokens_of(model_of(vocabulary, false), "aé"),
              ElementsAre(Token{1, 0, 1}, Token{0, 1, 3}));
  vocabulary.resize(0xA9);  // without the second byte
  EXPECT_THAT(tokens_of(model_of(vocabulary, true), "aé"),
              ElementsAre(Token{1, 0, 1}, Token{0, 1, 3}));
}

TEST(Unigram, NeverMatchesTheEmptyPiece) {
  const Unigram model = model_of({{"<unk>", 0}, {"", 50}, {"a", -1}});
  EXPECT_THAT(tokens_of(model, "a"), ElementsAre(Token{2, 0, 1}));
}

TEST(Unigram, TakesLongWords) {
  const Unigram model = model_of({{"<unk>", 0}, {"x", -3}, {"xx", -4}, {"xxx", -5.5}});
  const std::string text(100 << 10, 'x');
  const std::vector<PieceToken> tokens = tokens_of(model, text);
  EXPECT_EQ(tokens.front().begin, 0U);
  EXPECT_EQ(tokens.back().end, text.size());
  for (std::size_t i = 1; i < tokens.size(); ++i) ASSERT_EQ(tokens[i].begin, tokens[i - 1].end);
}

TEST(ByteTrie, FindsEachKeyAndNothingElse) {
  std::mt19937 random(7);
  std::vector<std::string> keys;
  for (int i = 0; i < 20000; ++i) {
    std::string key;
    for (auto left = 1 + random() % 6; left > 0; --left) {
      // Dense and thin nodes.
      key.push_back(static_cast<char>(random() % 4 == 0 ? random() % 256 : 'a' + random() % 3));
    }
    keys.push_back(key);
  }
  const ByteTrie trie(keys);
  std::unordered_map<std::string, std::int32_t> last;
  for (std::size_t i = 0; i < keys.size(); ++i) last[keys[i]] = static_cast<std::int32_t>(i);
  for (const auto& [key, value] : last) {
    ASSERT_EQ(trie.find(key), value);
    for (const std::string& other : {key + "a", key + std::string(1, '\0'), key.substr(1)}) {
      const auto found = last.find(other);
      ASSERT_EQ(trie.find(other), found == last.end() ? -1 : found->second);
    }
  }
}

TEST(ByteTrie, FindsAllPrefixesTheShortestFirst) {
  const ByteTrie trie({"abc", "", "a", "ab", "b", "abcde"});
  std::vector<std::pair<std::size_t, std::int32_t>> found;
  trie.for_each_prefix(
      "abcd", [&](std::size_t length, std::int32_t value) { found.emplace_back(length, value); });
  EXPECT_THAT(found, ElementsAre(std::pair(1, 2), std::pair(2, 3), std::pair(3, 0)));
}

TEST(ByteTrie, MayBeEmpty) {
  EXPECT_EQ(ByteTrie({}).find("a"), -1);
}

}  // namespace
}  // namespace dtl::trainer::unigram_test
