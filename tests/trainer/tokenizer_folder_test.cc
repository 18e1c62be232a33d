// What the files beside a vocabulary say of its tokens; folder_parity.py compares with
// transformers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "tests/trainer/temporary_folder.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer::tokenizer_folder_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Files = std::map<std::string, std::string>;
using Ids = std::vector<std::int32_t>;

// Ids: 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], 4 [MASK], 5 a, 6 b, 7 A; the next one is 8.
constexpr const char* kWords = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nA\n";

class TokenizerFolder : public testing::Test {
 protected:
  Tokenizer load(const Files& files) const {
    folder_.write("vocab.txt", kWords);
    for (const auto& [name, bytes] : files) folder_.write(name, bytes);
    return Tokenizer::load(folder_.path());
  }
  // As loaded; and the same of what is saved, from another folder.
  Ids ids(const Files& files, const std::string& text, int length = 64) const {
    const Tokenizer tokenizer = load(files);
    const TemporaryFolder saved;
    tokenizer.save(saved.path());
    const Ids found = tokenizer.encode(text, length).ids;
    EXPECT_EQ(Tokenizer::load(saved.path()).encode(text, length).ids, found);
    return found;
  }
  std::string complaint(const Files& files) const {
    try {
      load(files);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kBadInput);
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(TokenizerFolder, HasTokensOfAddedTokensJson) {
  EXPECT_THAT(ids({{"added_tokens.json", R"({"<y>": 9, "<x>": 8})"}}, "a<x> <y>"),
              ElementsAre(2, 5, 8, 9, 3));
}

TEST_F(TokenizerFolder, HasTokensOfTheDecoderAndThenNoOthers) {
  EXPECT_THAT(ids({{"tokenizer_config.json",
                    R"({"added_tokens_decoder": {"8": {"content": "<x>", "lstrip": true}}})"},
                   {"added_tokens.json", R"({"<y>": 8})"}},
                  "a <x> <y>"),
              ElementsAre(2, 5, 8, 1, 1, 1, 3));
}

TEST_F(TokenizerFolder, HasListsOfSpecialTokens) {
  for (const char* list : {"additional_special_tokens", "extra_special_tokens"}) {
    for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"}) {
      EXPECT_THAT(ids({{file, std::string("{\"") + list + "\": [\"<x>\", {\"content\": \"b\"}]}"}},
                      "<x>ab"),
                  ElementsAre(2, 8, 5, 6, 3));
      std::filesystem::remove(folder_.file(file));
    }
  }
}

TEST_F(TokenizerFolder, RefusesAnIdThatNobodyWouldGiveIt) {
  EXPECT_THAT(complaint({{"added_tokens.json", R"({"<x>": 20})"}}),
              AllOf(HasSubstr("'<x>'"), HasSubstr("20 in the file, but 8"), HasSubstr("Try: ")));
}

TEST_F(TokenizerFolder, MayCallItsSpecialTokensOtherwise) {
  EXPECT_THAT(ids({{"tokenizer_config.json", R"({"cls_token": "a", "sep_token": "b"})"}}, "?"),
              ElementsAre(5, 1, 6));
  EXPECT_THAT(complaint({{"tokenizer_config.json", R"({"unk_token": "<unk>"})"}}),
              AllOf(HasSubstr("'<unk>' is not in the vocabulary"), HasSubstr("unk_token")));
}

TEST_F(TokenizerFolder, MayCutTheBeginning) {
  const Files left = {{"tokenizer_config.json", R"({"truncation_side": "left"})"}};
  EXPECT_THAT(ids(left, "a a b b a", 5), ElementsAre(2, 6, 6, 5, 3));
  EXPECT_THAT(load(left).encode_pair("a b b", "b a", 6).ids, ElementsAre(2, 6, 6, 3, 5, 3));
  const std::vector<Window> windows = load(left).encode_question("a", "a a b b b", 7, 1);
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 5, 3, 6, 6, 6, 3));
  EXPECT_THAT(windows[1].ids, ElementsAre(2, 5, 3, 5, 5, 6, 3));
}

TEST_F(TokenizerFolder, LowersTextWhereNothingIsSaid) {
  EXPECT_THAT(ids({}, "A"), ElementsAre(2, 5, 3));
  EXPECT_THAT(ids({{"tokenizer_config.json", R"({"do_lower_case": false})"}}, "A"),
              ElementsAre(2, 7, 3));
}

TEST_F(TokenizerFolder, GoesByTheClass) {
  const TemporaryFolder cased;
  Tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "A"}, false).save(cased.path());
  const Files json = {{"tokenizer.json", read_regular_file(cased.file("tokenizer.json"), 1 << 20)}};
  EXPECT_THAT(ids(json, "A"), ElementsAre(2, 4, 3));
  Files whole = json;
  whole["tokenizer_config.json"] = R"({"tokenizer_class": "PreTrainedTokenizerFast"})";
  EXPECT_THAT(ids(whole, "A"), ElementsAre(2, 5, 3));
}

TEST_F(TokenizerFolder, WritesAClassThatReadsTheSame) {
  const auto written = [&](const std::string& from, const std::string& to) {
    const TemporaryFolder start, saved;
    Tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "@@b"}, true).save(start.path());
    std::string json = read_regular_file(start.file("tokenizer.json"), 1 << 20);
    for (std::size_t at = 0; (at = json.find(from, at)) != std::string::npos; at += to.size()) {
      json.replace(at, from.size(), to);
    }
    start.write("tokenizer.json", json);
    start.write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
    Tokenizer::load(start.path()).save(saved.path());
    return read_regular_file(saved.file("tokenizer_config.json"), 1 << 20);
  };
  EXPECT_THAT(written("\"clean_text\": true", "\"clean_text\": false"),
              HasSubstr("PreTrainedTokenizerFast"));
  EXPECT_THAT(written("\"##\"", "\"@@\""), HasSubstr("PreTrainedTokenizerFast"));
  EXPECT_THAT(written("x", "x"), Not(HasSubstr("PreTrainedTokenizerFast")));
}

TEST_F(TokenizerFolder, SaysHowLongATextMayBe) {
  EXPECT_EQ(load({{"tokenizer_config.json", R"({"model_max_length": 77})"}}).max_length(), 77);
  EXPECT_EQ(load({{"tokenizer_config.json", R"({"max_len": 5})"}}).max_length(), 5);
  EXPECT_FALSE(load({{"tokenizer_config.json", "{}"}}).max_length());
  EXPECT_FALSE(
      load({{"tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})"}})
          .max_length());
}

TEST_F(TokenizerFolder, RefusesAVocabularyWithAMark) {
  folder_.write("vocab.txt", std::string("\xEF\xBB\xBF") + kWords);
  try {
    Tokenizer::load(folder_.path());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("vocab.txt:1:1: "), HasSubstr("byte order mark"),
                                    HasSubstr("Try: sed -i ")));
  }
}

}  // namespace
}  // namespace dtl::trainer::tokenizer_folder_test
