#pragma once
// Turns texts into model inputs: tokens with special tokens around them, truncated or in windows,
// as Hugging Face's fast tokenizers do. Subwords provides a text's tokens. Immutable after load(),
// so several threads may use it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tokens/subwords.h"

namespace dtl::trainer {

struct Encoding {
  std::vector<std::int32_t> ids;  // with [CLS] and [SEP]
  std::vector<std::int8_t> types;
  bool cut = false;  // truncated to max_length
};

// [CLS] words [SEP].
struct WordEncoding {
  std::vector<std::int32_t> ids;
  // The index of each token's word; kNoWord for [CLS] and [SEP]. A word may have no token.
  std::vector<std::int32_t> words;
  // Words that lost all their tokens or some.
  std::int64_t words_cut = 0;
};
constexpr std::int32_t kNoWord = -1;

// A question and a part of its context: [CLS] question [SEP] context [SEP].
struct Window {
  std::vector<std::int32_t> ids;
  std::vector<std::int8_t> types;
  // Positions in the context; none for the question, [CLS] and [SEP]. A token that normalisation
  // changed has the position of its original characters.
  std::vector<Offset> offsets;
};

class Tokenizer {
 public:
  // Reads tokenizer.json or vocab.txt and related files of a model folder: see wordpiece_files.h.
  // Throws Error(kBadInput) naming the file.
  static Tokenizer load(const std::string& folder);
  explicit Tokenizer(std::unique_ptr<const Subwords> subwords);
  // WordPiece: vocabulary[i] is the token with id i. model_max_length: see max_length().
  Tokenizer(std::vector<std::string> vocabulary, bool lower_case, int model_max_length = 512);

  // At most max_length ids; longest_first truncation for pairs. Truncates texts at the end or, with
  // truncation_side left, at the beginning. Invalid UTF-8 reads as U+FFFD.
  Encoding encode(std::string_view text, int max_length) const;
  Encoding encode_pair(std::string_view first, std::string_view second, int max_length) const;
  // Throws Error(kUsage) if a pair would have no room for a token of a text.
  void check_pair_length(int max_length) const;

  // Encodes a text that is split into words already: each word by itself, as with
  // is_split_into_words. At most max_length ids; truncates as encode() does.
  WordEncoding encode_words(std::span<const std::string> words, int max_length) const;

  // As run_qa: removes white space before the question. Cuts a context that does not fit into
  // max_length ids into windows; each repeats the last `stride` context tokens of the previous one
  // (Hugging Face's doc_stride). With truncation_side left, cuts from the end. Throws
  // Error(kBadInput) if cutting is needed and the question leaves room for at most `stride` tokens.
  std::vector<Window> encode_question(std::string_view question, std::string_view context,
                                      int max_length, int stride) const;

  int vocabulary_size() const;
  // The maximum length for transformers' scripts; nothing if the folder does not say.
  std::optional<std::int64_t> max_length() const;
  int padding_id() const;
  std::optional<std::int32_t> mask_id() const;
  std::vector<TokenKind> token_kinds() const;  // by id
  // Writes files from which from_pretrained makes the same tokenizer. For WordPiece: vocab.txt,
  // tokenizer.json, tokenizer_config.json and special_tokens_map.json.
  void save(const std::string& folder) const;

 private:
  std::unique_ptr<const Subwords> subwords_;
};

}  // namespace dtl::trainer
