#include "trainer/tokens/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"

namespace dtl::trainer::tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Ids: 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], 4 [MASK], then as listed.
std::vector<std::string> vocabulary() {
  return {"[PAD]", "[UNK]",    "[CLS]",    "[SEP]",  "[MASK]",  "un",  "##want",
          "##ed",  "runn",     "##ing",    ",",      "want",    "the", "cafe",
          "i",     "##\u0307", "istanbul", "\u03C3", "\u4E2D",  "a",   "##a",
          "e",     "Cafe",     "##\u1161", "\u1112", "##\u11AB"};
}

std::vector<std::int32_t> ids(const std::string& text, bool lower_case = true) {
  std::vector<std::int32_t> found = Tokenizer(vocabulary(), lower_case).encode(text, 512).ids;
  EXPECT_EQ(found.front(), 2);
  EXPECT_EQ(found.back(), 3);
  return {found.begin() + 1, found.end() - 1};
}

TEST(Tokenizer, MatchesTheLongestPieceFirst) {
  EXPECT_THAT(ids("unwanted running, want"), ElementsAre(5, 6, 7, 8, 9, 10, 11));
}

TEST(Tokenizer, TurnsAWordWithAnyUnknownPartIntoOneUnknown) {
  EXPECT_THAT(ids("unwantedX the"), ElementsAre(1, 12));
}

TEST(Tokenizer, LowersAndStripsAccents) {
  EXPECT_THAT(ids("THE Caf\u00e9 cafe\u0301"), ElementsAre(12, 13, 13));
}

TEST(Tokenizer, KeepsCaseAndAccentsWhenCased) {
  EXPECT_THAT(ids("Cafe THE caf\u00e9", false), ElementsAre(22, 1, 1));
}

TEST(Tokenizer, LowersTheDottedCapitalAfterStrippingItsDot) {
  EXPECT_THAT(ids("\u0130stanbul"), ElementsAre(16));
}

TEST(Tokenizer, HasNoRuleForFinalSigma) {
  EXPECT_THAT(ids("\u03A3"), ElementsAre(17));
}

TEST(Tokenizer, SetsIdeographsApart) {
  EXPECT_THAT(ids("a\u4E2Da"), ElementsAre(19, 18, 19));
}

TEST(Tokenizer, DecomposesHangulWhenStrippingAccents) {
  EXPECT_THAT(ids("\uD55C"), ElementsAre(24, 23, 25));
}

TEST(Tokenizer, RemovesControlsSoThatWordsJoin) {
  EXPECT_THAT(ids(std::string("t\0h\u200B\u00ADe\v", 9)), ElementsAre(12));
  EXPECT_THAT(ids("t\xFFhe"), ElementsAre(12));
  EXPECT_THAT(ids("a\u00A0a\u3000a\r\na"), ElementsAre(19, 19, 19, 19));
}

TEST(Tokenizer, KnowsSpecialTokensInTheText) {
  EXPECT_THAT(ids("a[SEP]a [MASK] [UNK]"), ElementsAre(19, 3, 19, 4, 1));
  EXPECT_THAT(ids("[sep]"), ElementsAre(1, 1, 1));
}

TEST(Tokenizer, GivesUpOnWordsOfMoreThan100Characters) {
  EXPECT_EQ(ids(std::string(100, 'a')).size(), 100u);
  EXPECT_THAT(ids(std::string(101, 'a')), ElementsAre(1));
}

TEST(Tokenizer, EncodesEmptyText) {
  EXPECT_TRUE(ids("").empty());
  EXPECT_TRUE(ids(" \t\n").empty());
}

TEST(Tokenizer, CutsToTheLengthAskedFor) {
  const Encoding encoding = Tokenizer(vocabulary(), true).encode("a the a the a", 5);
  EXPECT_THAT(encoding.ids, ElementsAre(2, 19, 12, 19, 3));
  EXPECT_THAT(encoding.types, ElementsAre(0, 0, 0, 0, 0));
}

TEST(Tokenizer, MarksTheSecondTextAndItsEnd) {
  const Encoding encoding = Tokenizer(vocabulary(), true).encode_pair("a", "the a", 16);
  EXPECT_THAT(encoding.ids, ElementsAre(2, 19, 3, 12, 19, 3));
  EXPECT_THAT(encoding.types, ElementsAre(0, 0, 0, 1, 1, 1));
}

std::string repeated(const std::string& word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += word + " ";
  return text;
}

TEST(Tokenizer, CutsTheLongerOfAPairFirst) {
  const Tokenizer tokenizer(vocabulary(), true);
  const auto lengths = [&](int first, int second, int max) {
    const Encoding encoding =
        tokenizer.encode_pair(repeated("a", first), repeated("the", second), max);
    return std::pair(std::count(encoding.ids.begin(), encoding.ids.end(), 19),
                     std::count(encoding.ids.begin(), encoding.ids.end(), 12));
  };
  EXPECT_EQ(lengths(2, 20, 13), std::pair(2L, 8L));
  EXPECT_EQ(lengths(20, 2, 13), std::pair(8L, 2L));
  EXPECT_EQ(lengths(20, 20, 14), std::pair(5L, 6L));
  EXPECT_EQ(lengths(21, 20, 14), std::pair(6L, 5L));
  EXPECT_EQ(lengths(3, 3, 13), std::pair(3L, 3L));
}

TEST(Tokenizer, ReadsAMillionCharacters) {
  EXPECT_EQ(Tokenizer(vocabulary(), true).encode(repeated("a", 500000), 128).ids.size(), 128u);
}

TEST(Tokenizer, LoadsWhatItSaved) {
  const TemporaryFolder folder;
  Tokenizer(vocabulary(), false).save(folder.path());
  const Tokenizer again = Tokenizer::load(folder.path());
  EXPECT_THAT(again.encode("Cafe, cafe", 16).ids, ElementsAre(2, 22, 10, 13, 3));
  EXPECT_EQ(again.vocabulary_size(), 26);
  EXPECT_EQ(again.padding_id(), 0);
  std::filesystem::remove(folder.file("tokenizer.json"));
  EXPECT_THAT(Tokenizer::load(folder.path()).encode("Cafe, cafe", 16).ids,
              ElementsAre(2, 22, 10, 13, 3));
}

TEST(Tokenizer, TakesTheLastOfEqualLinesAndTrimsTheirEnds) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe \r\na\nthe\n");
  folder.write("tokenizer_config.json", R"({"do_lower_case": true})");
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_THAT(tokenizer.encode("the a", 8).ids, ElementsAre(2, 6, 5, 3));
  tokenizer.save(folder.path());
  EXPECT_THAT(Tokenizer::load(folder.path()).encode("the a", 8).ids, ElementsAre(2, 6, 5, 3));
}

TEST(Tokenizer, FollowsTheFlagsOfAddedTokens) {
  const TemporaryFolder folder;
  Tokenizer(vocabulary(), true).save(folder.path());
  std::ifstream in(folder.file("tokenizer.json"));
  std::string json((std::istreambuf_iterator<char>(in)), {});
  const std::string list = "\"added_tokens\": [";
  json.insert(json.find(list) + list.size(),
              R"({"id": 26, "content": "Whole", "single_word": true, "normalized": false},
                 {"id": 27, "content": "<l>", "lstrip": true, "rstrip": true, "normalized": false},
                 {"id": 28, "content": "<l>x", "normalized": false},
                 {"id": 29, "content": "CAF\u00c9"},)");
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", "{}");  // which had a list of its own
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_THAT(tokenizer.encode("aWhole (Whole) Whole9", 64).ids, ElementsAre(2, 1, 1, 26, 1, 1, 3));
  EXPECT_THAT(tokenizer.encode("a  <l>  a<l>x", 64).ids, ElementsAre(2, 19, 27, 19, 28, 3));
  EXPECT_THAT(tokenizer.encode("Caf\u00e9", 64).ids, ElementsAre(2, 29, 3));
  EXPECT_EQ(tokenizer.vocabulary_size(), 30);
}

TEST(Tokenizer, GivesEveryThreadTheSameIds) {
  const Tokenizer tokenizer(vocabulary(), true), other({"[PAD]", "[UNK]", "[CLS]", "[SEP]"}, true);
  std::vector<std::vector<std::int32_t>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : found) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          other.encode("unwanted running", 16);
          result = tokenizer.encode("unwanted running", 16).ids;
        }
      });
    }
  }
  for (const auto& result : found) EXPECT_THAT(result, ElementsAre(2, 5, 6, 7, 8, 9, 3));
}

std::string load_error(const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  folder.write(name, bytes);
  try {
    Tokenizer::load(folder.path());
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Tokenizer, NamesTheFileThatItCannotUse) {
  EXPECT_THAT(load_error("other", ""), HasSubstr("neither tokenizer.json nor vocab.txt"));
  EXPECT_THAT(load_error("vocab.txt", "the\na\n"), HasSubstr("vocab.txt: cannot use"));
  EXPECT_THAT(load_error("tokenizer.json", "[1"), HasSubstr("tokenizer.json:1:3: cannot use"));
  EXPECT_THAT(load_error("tokenizer.json", R"({"normalizer": {"type": "NFC"}})"),
              HasSubstr("BertNormalizer"));
  EXPECT_THAT(load_error("tokenizer.json", R"({"normalizer": {"type": "BertNormalizer"},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "BPE", "vocab": {}}})"),
              HasSubstr("not WordPiece but BPE"));
  EXPECT_THAT(load_error("tokenizer.json", R"({"normalizer": {"type": {"no": "content"}}})"),
              HasSubstr("'type' is not a text"));
}

std::string with_template(const std::string& post_processor, const std::string& last_id = "4") {
  return R"({"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer":
      {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", "vocab":
      {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": )" +
         last_id + R"(}}, "post_processor": )" + post_processor + "}";
}

TEST(Tokenizer, RefusesAnOldTemplateWithoutItsTokens) {
  EXPECT_THAT(load_error("tokenizer.json", with_template(R"({"type": "BertProcessing"})")),
              HasSubstr("its post_processor has no cls"));
  EXPECT_THAT(
      load_error("tokenizer.json",
                 with_template(R"({"type": "BertProcessing", "cls": ["[CLS]"], "sep": []})")),
      HasSubstr("its post_processor has no sep"));
  EXPECT_EQ(load_error("tokenizer.json", with_template(R"({"type": "BertProcessing",
                                  "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]})")),
            "");
}

TEST(Tokenizer, RefusesATypeThatIsNoWholeNumber) {
  EXPECT_THAT(load_error("tokenizer.json", with_template(R"({"type": "TemplateProcessing",
                  "single": [{"Sequence": {"id": "A", "type_id": 1e300}}], "pair": []})")),
              HasSubstr("1e+300 is not a token id"));
}

TEST(Tokenizer, RefusesIdsFarBeyondTheVocabulary) {
  EXPECT_THAT(load_error("tokenizer.json", with_template("null", "16777216")),
              HasSubstr("a token has the id 16777216 in a vocabulary of 5"));
}

TEST(Tokenizer, RefusesDeepNesting) {
  const std::string nested = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(load_error("tokenizer.json", with_template(nested)), HasSubstr("nest too deep"));
  EXPECT_THAT(load_error("tokenizer_config.json", nested), HasSubstr("nest too deep"));
}

}  // namespace
}  // namespace dtl::trainer::tokenizer_test
