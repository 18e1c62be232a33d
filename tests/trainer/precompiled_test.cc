#include "trainer/pieces/precompiled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/trainer/character_table.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer::precompiled_test {
namespace {

using testing::ElementsAre;

AlignedText text_of(std::u32string_view characters) {
  AlignedText text;
  for (const char32_t c : characters) text.put(c, static_cast<std::int32_t>(text.places.size()));
  return text;
}

AlignedText normalized(const Entries& entries, std::u32string_view characters) {
  AlignedText text = text_of(characters);
  Precompiled::parse(character_table(entries)).value().normalize(text);
  return text;
}

TEST(Precompiled, ReplacesCharacters) {
  const Entries entries = {{"ﬁ", "fi"}, {"\t", " "}, {"Å", "a"}};
  const AlignedText text = normalized(entries, U"x\tﬁÅz");
  EXPECT_EQ(text.characters, U"x fiaz");
  EXPECT_THAT(text.places, ElementsAre(0, 1, 2, 2, 3, 4));
}

TEST(Precompiled, ReplacesShortClustersAsAWhole) {
  const Entries entries = {{"e\u0301", "é"}, {"\r", "R"}, {"\u0301", "!"}};
  AlignedText text = normalized(entries, U"e\u0301\r\nz");
  EXPECT_EQ(text.characters, U"éRz");
  EXPECT_THAT(text.places, ElementsAre(0, 2, 4));
  // A cluster of six bytes: each character by itself.
  text = normalized(entries, U"e\u0301\u0301\u0300");
  EXPECT_EQ(text.characters, U"e!!\u0300");
}

TEST(Precompiled, LetsTheShortestEntryDecide) {
  EXPECT_EQ(normalized({{"e", "1"}, {"e\u0301", "2"}}, U"e\u0301").characters, U"1");
}

TEST(Precompiled, CountsARemovedCharacterToTheOneBeforeIt) {
  const AlignedText text = normalized({{"\x01", ""}, {"ﬁ", "fi"}},
                                      U"a\x01"
                                      U"bﬁ\x01z");
  EXPECT_EQ(text.characters, U"abfiz");
  EXPECT_THAT(text.places, ElementsAre(0, 2, 3, 4, 5));
}

// As in tokenizers: nothing is before it, so the places of all others are one too small.
TEST(Precompiled, DoesNotCountARemovedFirstCharacter) {
  const AlignedText text = normalized({{"\x01", ""}},
                                      U"\x01"
                                      U"ab");
  EXPECT_EQ(text.characters, U"ab");
  EXPECT_THAT(text.places, ElementsAre(0, 1));
}

TEST(Precompiled, MayRemoveEverything) {
  EXPECT_EQ(normalized({{"\x01", ""}}, U"\x01\x01").characters, U"");
}

TEST(Precompiled, RefusesATruncatedTable) {
  const std::string whole = character_table({{"a", "b"}});
  const std::size_t array = whole.size() - std::string("b").size() - 1;
  for (std::size_t size = 0; size < array; size += size < 8 ? 1 : 97) {
    EXPECT_FALSE(Precompiled::parse(whole.substr(0, size))) << size;
  }
  EXPECT_TRUE(Precompiled::parse(whole.substr(0, array)));
  EXPECT_FALSE(Precompiled::parse(std::string(8, '\0')));  // an empty array
  EXPECT_FALSE(Precompiled::parse(whole + "\xFF"));        // not UTF-8
}

TEST(Precompiled, IgnoresReplacementsOutsideOfTheTable) {
  const std::string whole = character_table({{"a", "é"}});
  AlignedText text = text_of(U"a");
  // Without its replacements.
  Precompiled::parse(whole.substr(0, whole.size() - 3)).value().normalize(text);
  EXPECT_EQ(text.characters, U"");
  text = text_of(U"a");
  std::string shifted = whole;
  for (std::size_t at = 0; at + 4 < shifted.size(); at += 4) {
    // The value 0 becomes 1: inside of the é.
    if (shifted.compare(at, 4, std::string("\0\0\0\x80", 4)) == 0) shifted[at] = 1;
  }
  Precompiled::parse(shifted).value().normalize(text);
  EXPECT_EQ(text.characters, U"a");
}

TEST(Precompiled, SurvivesAnyTable) {
  std::mt19937 random(11);
  const std::string whole = character_table({{"e\u0301", "é"}, {"a", "ab"}, {"ﬁ", ""}});
  for (int round = 0; round < 2000; ++round) {
    std::string table = whole;
    for (auto left = 1 + random() % 200; left > 0; --left) {
      table[4 + random() % (table.size() - 12)] = static_cast<char>(random());
    }
    const auto map = Precompiled::parse(table);
    ASSERT_TRUE(map);
    AlignedText text = text_of(U"e\u0301aﬁ\r\nxyz\U0001F600");
    map->normalize(text);
    ASSERT_EQ(text.characters.size(), text.places.size());
    for (const std::int32_t place : text.places) ASSERT_TRUE(place >= 0 && place < 10);
  }
}

TEST(Unicode, FindsTheEndsOfClusters) {
  const auto clusters = [](std::u32string_view text) {
    std::vector<std::size_t> ends;
    std::int32_t state = 0;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (ends_cluster(text[at - 1], text[at], state)) ends.push_back(at);
    }
    return ends;
  };
  EXPECT_THAT(clusters(U"ab\u0301c"), ElementsAre(1, 3));
  EXPECT_THAT(clusters(U"\r\n\n\r"), ElementsAre(2, 3));
  // Two flags; a family joined by U+200D.
  EXPECT_THAT(clusters(U"\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7"), ElementsAre(2));
  EXPECT_THAT(clusters(U"a\U0001F469\u200D\U0001F680b"), ElementsAre(1, 4));
  EXPECT_THAT(clusters(U"\u1100\u1161\u11A8\u1100"), ElementsAre(3));
}

}  // namespace
}  // namespace dtl::trainer::precompiled_test
