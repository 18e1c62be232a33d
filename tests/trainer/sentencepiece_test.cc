// Folders with a SentencePiece vocabulary. unigram_parity.py compares with transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "tests/trainer/character_table.h"
#include "tests/trainer/sentencepiece_bytes.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/token_spans.h"
#include "trainer/pieces/base64.h"
#include "trainer/pieces/whitespace.h"
#include "trainer/tokens/sentencepiece_model.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer::sentencepiece_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Base64, WritesWhatItReads) {
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(length * 37));
  }
  EXPECT_EQ(encode_base64("Man"), "TWFu");
  EXPECT_EQ(encode_base64("M"), "TQ==");
  for (const char* bad : {"TQ", "TQ=", "TR==", "T===", "TQ==TQ==", "T\nQ=", "TW-u", "===="}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
}

std::u32string replaced(std::string_view expression, std::u32string_view characters) {
  AlignedText text;
  for (const char32_t c : characters) text.put(c, 0);
  ReplaceWhitespace::of_expression(expression, U"_").value().normalize(text);
  return text.characters;
}

TEST(ReplaceWhitespace, FollowsItsExpression) {
  const std::u32string_view text = U"a  b c\u00a0 d\te\n";
  EXPECT_EQ(replaced(" {2,}", text), U"a_b c\u00a0 d\te\n");
  EXPECT_EQ(replaced(" +", text), U"a_b_c\u00a0_d\te\n");
  EXPECT_EQ(replaced("\\s{2,}", text), U"a_b c_d\te\n");
  EXPECT_EQ(replaced("\\s+", text), U"a_b_c_d_e_");
  EXPECT_EQ(replaced("\\s{2,}|[\\n\\r\\t]", text), U"a_b c_d_e_");
  EXPECT_FALSE(ReplaceWhitespace::of_expression("a+", U"_"));
}

class SentencePieceFolder : public testing::Test {
 protected:
  void write_model(const std::string& bytes) const { folder_.write("spm.model", bytes); }
  const TemporaryFolder folder_;
};

TEST_F(SentencePieceFolder, ReadsPiecesSymbolsAndTable) {
  write_model(sentencepiece_bytes(deberta_pieces(), "table", 1, 3));
  const SentencePieceModel model = read_sentencepiece_model(folder_.file("spm.model"));
  EXPECT_THAT(model.pieces,
              ElementsAre("[PAD]", "[CLS]", "[SEP]", "[UNK]", "\u2581", "a", "b", "\u2581a", "ab"));
  EXPECT_EQ(model.scores[8], -6);
  ASSERT_EQ(model.symbols.size(), 3U);
  EXPECT_EQ(model.symbols[1].piece, "[CLS]");
  EXPECT_TRUE(model.symbols[1].control);
  EXPECT_EQ(model.character_table, "table");
  EXPECT_EQ(model.unknown, 3);
}

TEST_F(SentencePieceFolder, RefusesADamagedModelNamingTheFile) {
  const std::string good = sentencepiece_bytes(deberta_pieces());
  const auto read = [&] { read_sentencepiece_model(folder_.file("spm.model")); };
  for (const std::string& bad : {good.substr(0, good.size() - 1), "\x0A" + good, good + "\x0C",
                                 sentencepiece_bytes({{"\xFF"}})}) {
    write_model(bad);
    EXPECT_THAT(complaint(read), HasSubstr("spm.model: cannot use this tokenizer: it is not"));
  }
  write_model(sentencepiece_bytes(deberta_pieces(), "", 2));
  EXPECT_THAT(complaint(read), HasSubstr("its model_type is not UNIGRAM"));
  write_model("");
  EXPECT_THAT(complaint(read), HasSubstr("it has no pieces"));
}

TEST_F(SentencePieceFolder, LoadsSpmModelAsDebertaDoes) {
  folder_.write("config.json", R"({"model_type":"deberta-v2"})");
  write_model(sentencepiece_bytes(deberta_pieces(), "", 1, 3));
  const Tokenizer tokenizer = Tokenizer::load(folder_.path());
  const TokenSpans spans = token_spans(tokenizer, "ab\n\nz[MASK]");
  EXPECT_THAT(spans.ids, ElementsAre(7, 6, 4, 3, 9));
  EXPECT_THAT(spans.offsets,
              ElementsAre(Offset{0, 1}, Offset{1, 2}, Offset{3, 4}, Offset{4, 5}, Offset{5, 11}));
  const Encoding pair = tokenizer.encode_pair("a", "b", 16);
  EXPECT_THAT(pair.ids, ElementsAre(1, 7, 2, 4, 6, 2));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_EQ(tokenizer.mask_id(), 9);
}

TEST_F(SentencePieceFolder, LoadsSentencePieceBpeModelAsXlmRobertaDoes) {
  folder_.write("tokenizer_config.json", R"({"tokenizer_class":"XLMRobertaTokenizer"})");
  folder_.write("sentencepiece.bpe.model",
                sentencepiece_bytes({{"<unk>", 0, 2},
                                     {"<s>", 0, 3},
                                     {"</s>", 0, 3},
                                     {"\u2581", -2},
                                     {"fi", -3},
                                     {"\u2581x", -4}},
                                    character_table({{"\uFB01", "fi"}})));
  const Tokenizer tokenizer = Tokenizer::load(folder_.path());
  const TokenSpans spans = token_spans(tokenizer, "  x\uFB01\u3000\uFB01 ?");
  EXPECT_THAT(spans.ids, ElementsAre(6, 5, 4, 5, 4, 3));
  EXPECT_EQ(spans.offsets[1], (Offset{3, 4}));
  const Encoding pair = tokenizer.encode_pair("x", "x", 16);
  EXPECT_THAT(pair.ids, ElementsAre(0, 6, 2, 2, 6, 2));
  EXPECT_THAT(pair.types, ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST_F(SentencePieceFolder, SavesWhatItReadsAgain) {
  folder_.write("config.json", R"({"model_type":"camembert"})");
  folder_.write("sentencepiece.bpe.model",
                sentencepiece_bytes({{"<unk>", 0, 2},
                                     {"<s>", 0, 3},
                                     {"</s>", 0, 3},
                                     {"\u2581", -2.3F},
                                     {"fi", -3.1F},
                                     {"\u2581x", -4.7F}},
                                    character_table({{"\uFB01", "fi"}})));
  const Tokenizer tokenizer = Tokenizer::load(folder_.path());
  const TemporaryFolder saved;
  tokenizer.save(saved.path());
  const Tokenizer again = Tokenizer::load(saved.path());
  const std::string text = "x\uFB01 <mask>?<s>NOTUSED fifi";
  EXPECT_EQ(token_spans(again, text).ids, token_spans(tokenizer, text).ids);
  EXPECT_EQ(token_spans(again, text).offsets, token_spans(tokenizer, text).offsets);
}

TEST_F(SentencePieceFolder, NamesTheMissingFile) {
  folder_.write("config.json", R"({"model_type":"deberta-v2"})");
  EXPECT_THAT(complaint([&] { Tokenizer::load(folder_.path()); }),
              HasSubstr("there is neither tokenizer.json nor spm.model"));
}

TEST_F(SentencePieceFolder, IsNamedWithoutItsSpecialTokens) {
  folder_.write("config.json", R"({"model_type":"deberta-v2"})");
  write_model(sentencepiece_bytes({{"<unk>", 0, 2}, {"a", -1}}, "", 1, 0));
  EXPECT_THAT(complaint([&] { Tokenizer::load(folder_.path()); }),
              HasSubstr("spm.model: cannot use this tokenizer: '[CLS]' is not in the vocabulary"));
}

}  // namespace
}  // namespace dtl::trainer::sentencepiece_test
