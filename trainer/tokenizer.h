#pragma once
// WordPiece with the rules of Hugging Face's fast BertTokenizer (normaliser, pre-tokeniser, greedy
// longest match, template, truncation). Immutable once loaded, therefore usable from several
// threads.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dtl::trainer {

struct Encoding {
  std::vector<std::int32_t> ids;  // with [CLS] and [SEP]
  std::vector<std::int8_t> types;
};

class Tokenizer {
 public:
  // From tokenizer.json, or vocab.txt with tokenizer_config.json, in a model folder. Throws
  // Error(kBadInput) naming the file.
  static Tokenizer load(const std::string& folder);
  // vocabulary[i] is the token of id i. model_max_length is only kept for save(): what other
  // programs may cut texts to.
  Tokenizer(std::vector<std::string> vocabulary, bool lower_case, int model_max_length = 512);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // At most max_length ids; longest_first truncation for pairs. Invalid UTF-8 is read as U+FFFD.
  Encoding encode(std::string_view text, int max_length) const;
  Encoding encode_pair(std::string_view first, std::string_view second, int max_length) const;

  int vocabulary_size() const;
  int padding_id() const;
  // vocab.txt, tokenizer.json, tokenizer_config.json, special_tokens_map.json, as from_pretrained
  // reads them.
  void save(const std::string& folder) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dtl::trainer
