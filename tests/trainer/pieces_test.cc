// Byte-level BPE and the other steps of a tokenizer.json. pieces_parity.py compares with the
// tokenizers library.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/token_spans.h"
#include "trainer/pieces/bpe.h"
#include "trainer/pieces/byte_level.h"
#include "trainer/pieces/normalizers.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {
namespace {

AlignedText aligned_text(std::string_view text) {
  AlignedText result;
  for (const char32_t c : code_points(text)) {
    result.put(c, static_cast<std::int32_t>(result.characters.size()));
  }
  return result;
}

std::string utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) append_utf8(bytes, c);
  return bytes;
}

std::vector<std::string> pieces_of(std::string_view text, ByteLevel::Rules rules = {}) {
  SplitText split;
  split.text = aligned_text(text);
  split.pieces = {{0, split.text.characters.size()}};
  ByteLevel(rules).pre_tokenize(split);
  std::vector<std::string> pieces;
  for (const PieceRange& piece : split.pieces) {
    pieces.push_back(utf8(
        std::u32string_view(split.text.characters).substr(piece.begin, piece.end - piece.begin)));
  }
  return pieces;
}

using Strings = std::vector<std::string>;

TEST(ByteLevelPieces, SplitsWordsNumbersMarksAndContractions) {
  EXPECT_EQ(pieces_of("I'll pay $1.50, it's"),
            (Strings{"I", "'ll", " pay", " $", "1", ".", "50", ",", " it", "'s"}));
  EXPECT_EQ(pieces_of("'S x's' 's"), (Strings{"'", "S", " x", "'s", "'", " '", "s"}));
}

TEST(ByteLevelPieces, LeaveTheLastBlankToTheNextWord) {
  EXPECT_EQ(pieces_of("a  b"), (Strings{"a", " ", " b"}));
  EXPECT_EQ(pieces_of("a\n\n b"), (Strings{"a", "\n\n", " b"}));
  EXPECT_EQ(pieces_of("a\r\nb"), (Strings{"a", "\r", "\n", "b"}));
  EXPECT_EQ(pieces_of("a \n"), (Strings{"a", " \n"}));
  EXPECT_EQ(pieces_of("\u00a0\u00a0a"), (Strings{"\u00a0", "\u00a0", "a"}));
}

TEST(ByteLevelPieces, PutABlankOnlyBeforeATextWithoutOne) {
  EXPECT_EQ(pieces_of("a", {.add_prefix_space = true}), (Strings{" a"}));
  EXPECT_EQ(pieces_of(" a", {.add_prefix_space = true}), (Strings{" a"}));
  EXPECT_EQ(pieces_of("a b", {.add_prefix_space = true, .use_regex = false}), (Strings{" a b"}));
}

TEST(ByteLevelPieces, WriteEachByteAsACharacterOfItsOwn) {
  EXPECT_EQ(byte_character(' '), U'\u0120');
  EXPECT_EQ(byte_character('\n'), U'\u010A');
  EXPECT_EQ(byte_character('a'), U'a');
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(token, byte_character(static_cast<unsigned char>(byte)));
    EXPECT_EQ(bytes_of_token(token), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(bytes_of_token("\u0144"), std::nullopt);
}

std::vector<std::int32_t> ids_of(const Bpe& bpe, std::string_view piece) {
  std::vector<PieceToken> tokens;
  bpe.add_tokens(piece, tokens);
  std::vector<std::int32_t> ids;
  for (const PieceToken& token : tokens) ids.push_back(token.id);
  return ids;
}

TEST(Bpe, JoinsTheLowestRankFirstAndThenTheLeftmost) {
  BpeRules rules;
  rules.vocabulary = {"a", "b", "ab", "bb", "aab"};
  rules.merges = {{1, 1, 3}, {0, 1, 2}, {0, 2, 4}};
  const Bpe bpe(rules);
  EXPECT_EQ(ids_of(bpe, "abb"), (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(ids_of(bpe, "aab"), (std::vector<std::int32_t>{4}));
  EXPECT_EQ(ids_of(bpe, "bbb"), (std::vector<std::int32_t>{3, 1}));
}

// The two ways to merge must agree: short pieces look at all pairs, long ones use a queue.
TEST(Bpe, MergesLongPiecesLikeShortOnes) {
  BpeRules rules;
  rules.vocabulary = {"a", "b", "aa", "ab", "aaaa", "c"};
  rules.merges = {{0, 0, 2}, {0, 1, 3}, {2, 2, 4}};
  const Bpe bpe(rules);
  std::string text;
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 20000; ++i) {
    text += "aaaaabc";
    for (const std::int32_t id : {4, 3, 5}) expected.push_back(id);
  }
  EXPECT_EQ(ids_of(bpe, "aaaaabc"), (std::vector<std::int32_t>{4, 3, 5}));
  EXPECT_EQ(ids_of(bpe, text), expected);
}

TEST(Bpe, GivesUnknownCharactersTheirBytesOrOneToken) {
  BpeRules rules;
  rules.vocabulary = {"a", "<0xC3>", "<0xA9>", "<unk>"};
  rules.unknown = 3;
  EXPECT_EQ(ids_of(Bpe(rules), "aéß"), (std::vector<std::int32_t>{0, 3, 3}));
  rules.fuse_unknown = true;
  EXPECT_EQ(ids_of(Bpe(rules), "aéß"), (std::vector<std::int32_t>{0, 3}));
  rules.byte_fallback = true;
  EXPECT_EQ(ids_of(Bpe(rules), "aéß"), (std::vector<std::int32_t>{0, 1, 2, 3}));
}

std::string normalized(const Normalizer& step, std::string_view text,
                       std::vector<std::int32_t>* places = nullptr) {
  AlignedText changed = aligned_text(text);
  step.normalize(changed);
  EXPECT_EQ(changed.places.size(), changed.characters.size());
  if (places != nullptr) *places = changed.places;
  return utf8(changed.characters);
}

TEST(NormalForms, ComposeAndDecompose) {
  EXPECT_EQ(normalized(NormalForm(false, true), "e\u0301 \u1100\u1161\u11a8"), "\u00e9 \uac01");
  EXPECT_EQ(normalized(NormalForm(false, false), "\u00e9\uac01"), "e\u0301\u1100\u1161\u11a8");
  EXPECT_EQ(normalized(NormalForm(true, true), "\ufb01\u2460"), "fi1");
  // A mark of the same class between blocks the composition.
  EXPECT_EQ(normalized(NormalForm(false, true), "a\u0315\u0300\u05ae\u0301b"),
            "\u00e0\u05ae\u0301\u0315b");
}

TEST(NormalForms, KeepThePlacesOfCharacters) {
  std::vector<std::int32_t> places;
  normalized(NormalForm(false, true), "xe\u0301y", &places);
  EXPECT_EQ(places, (std::vector<std::int32_t>{0, 1, 3}));
  normalized(NormalForm(true, false), "x\ufb01y", &places);
  EXPECT_EQ(places, (std::vector<std::int32_t>{0, 1, 1, 2}));
}

TEST(NormalizerSteps, ReplaceStripAndPrepend) {
  std::vector<std::int32_t> places;
  EXPECT_EQ(normalized(Replace(U"ab", U"xyz"), "cabab", &places), "cxyzxyz");
  EXPECT_EQ(places, (std::vector<std::int32_t>{0, 2, 2, 2, 4, 4, 4}));
  EXPECT_EQ(normalized(Strip(true, false), "  a ", &places), "a ");
  EXPECT_EQ(places, (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(normalized(Prepend(U"_"), "a", &places), "_a");
  EXPECT_EQ(places, (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(normalized(Prepend(U"_"), ""), "");
  EXPECT_EQ(normalized(StripAccents(), "e\u0301\u00e9"), "e\u00e9");
}

std::string json_text(std::string_view token) {
  std::string quoted = "\"";
  for (const char c : token)
    quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "\"";
}

// vocab.json and merges.txt of a RobertaTokenizer with all bytes and a few merges.
class RobertaFolder {
 public:
  RobertaFolder() {
    Strings tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
    for (int byte = 0; byte < 256; ++byte) {
      tokens.emplace_back();
      append_utf8(tokens.back(), byte_character(static_cast<unsigned char>(byte)));
    }
    for (const char* token : {"\u0120a", "bc", "\u0120abc"}) tokens.emplace_back(token);
    std::string vocabulary = "{";
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      vocabulary += (id == 0 ? "" : ", ") + json_text(tokens[id]) + ": " + std::to_string(id);
    }
    write("vocab.json", vocabulary + "}");
    write("merges.txt", "#version: 0.2\n\u0120 a\nb c\n\u0120a bc\n");
    write("config.json", R"({"model_type": "roberta"})");
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

constexpr std::int32_t kA = 5 + 'a', kBlankA = 261, kBc = 262, kBlankAbc = 263;
using Ids = std::vector<std::int32_t>;

TEST(RobertaTokens, HaveTwoSeparatorsBetweenTextsAndOneType) {
  const RobertaFolder folder;
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_EQ(tokenizer.encode("a abc", 8).ids, (Ids{0, kA, kBlankAbc, 2}));
  const Encoding pair = tokenizer.encode_pair("a", " a", 8);
  EXPECT_EQ(pair.ids, (Ids{0, kA, 2, 2, kBlankA, 2}));
  EXPECT_EQ(pair.types, (std::vector<std::int8_t>(6, 0)));
  EXPECT_EQ(tokenizer.encode_pair("aaaa", "aa", 6).ids, (Ids{0, kA, 2, 2, kA, 2}));
}

TEST(RobertaTokens, PutABlankBeforeWordsOfASplitText) {
  const RobertaFolder folder;
  const WordEncoding words = Tokenizer::load(folder.path()).encode_words(Strings{"abc", "a"}, 8);
  EXPECT_EQ(words.ids, (Ids{0, kBlankAbc, kBlankA, 2}));
  EXPECT_EQ(words.words, (Ids{kNoWord, 0, 1, kNoWord}));
}

TEST(RobertaTokens, LeaveBlanksOutOfOffsets) {
  const RobertaFolder folder;
  const TokenSpans spans = token_spans(Tokenizer::load(folder.path()), "a abc \u20ac");
  EXPECT_EQ(spans.offsets[1], (Offset{2, 5}));
  // The euro sign is three bytes, each with the place of the whole character.
  EXPECT_EQ(spans.offsets.back(), (Offset{6, 7}));
}

TEST(RobertaTokens, ContinueAWordWithoutABlankOrMark) {
  const RobertaFolder folder;
  const std::vector<TokenKind> kinds = Tokenizer::load(folder.path()).token_kinds();
  EXPECT_EQ(kinds[0], TokenKind::kSpecial);
  EXPECT_EQ(kinds[kBlankA], TokenKind::kBegins);
  EXPECT_EQ(kinds[kBc], TokenKind::kContinues);
  EXPECT_EQ(kinds[5 + '!'], TokenKind::kBegins);
  EXPECT_EQ(kinds[5 + 0xE2], TokenKind::kContinues);
}

TEST(RobertaTokens, AreTheSameAfterSaving) {
  RobertaFolder folder;
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "RobertaTokenizer", "model_max_length": 77,
                   "mask_token": {"content": "<mask>", "lstrip": true}})");
  const TemporaryFolder saved;
  const Tokenizer before = Tokenizer::load(folder.path());
  before.save(saved.path());
  const Tokenizer after = Tokenizer::load(saved.path());
  const std::string text = "abc  <mask> \xff a\u00e9\n\u4e2d" + std::string(100000, 'a');
  EXPECT_EQ(before.encode(text, INT32_MAX).ids, after.encode(text, INT32_MAX).ids);
  EXPECT_EQ(after.max_length(), 77);
  EXPECT_EQ(after.mask_id(), 4);
}

std::string refusal(const std::string& folder) {
  try {
    Tokenizer::load(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(RobertaTokens, NameTheLineOfAMergeThatIsNone) {
  RobertaFolder folder;
  folder.write("merges.txt", "#version: 0.2\nb c\nb q\n");
  EXPECT_NE(refusal(folder.path()).find("merges.txt:3"), std::string::npos);
}

TEST(RobertaTokens, RefuseAVocabularyWithoutAByte) {
  RobertaFolder folder;
  folder.write("vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2, "a": 3})");
  folder.write("merges.txt", "");
  EXPECT_NE(refusal(folder.path()).find("no token for the byte 0x00"), std::string::npos);
}

TEST(RobertaTokens, NameTheFilesThatAreMissing) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/config.json") << R"({"model_type": "roberta"})";
  EXPECT_NE(refusal(folder.path()).find("vocab.json and merges.txt"), std::string::npos);
}

}  // namespace
}  // namespace dtl::trainer
