#pragma once
// From texts to what a model reads: tokens in their frame, cut to a length, or in windows, as
// Hugging Face's fast tokenizers do it. Which tokens a text has is its Subwords' part. Immutable
// once loaded, therefore usable from several threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tokens/subwords.h"

namespace dtl::trainer {

struct Encoding {
  std::vector<std::int32_t> ids;  // with [CLS] and [SEP]
  std::vector<std::int8_t> types;
  bool cut = false;  // max_length was too little
};

// A question and a part of its context: [CLS] question [SEP] context [SEP].
struct Window {
  std::vector<std::int32_t> ids;
  std::vector<std::int8_t> types;
  // In the context; none for the question, [CLS] and [SEP]. A token that normalisation has changed
  // keeps the place of the characters that it was made of.
  std::vector<Offset> offsets;
};

class Tokenizer {
 public:
  // From tokenizer.json or vocab.txt, with the files beside them, in a model folder: see
  // wordpiece_files.h. Throws Error(kBadInput) naming the file.
  static Tokenizer load(const std::string& folder);
  explicit Tokenizer(std::unique_ptr<const Subwords> subwords);
  // WordPiece: vocabulary[i] is the token of id i. model_max_length: see max_length().
  Tokenizer(std::vector<std::string> vocabulary, bool lower_case, int model_max_length = 512);

  // At most max_length ids; longest_first truncation for pairs. Texts lose their ends, or, with
  // truncation_side left, their beginnings. Invalid UTF-8 is read as U+FFFD.
  Encoding encode(std::string_view text, int max_length) const;
  Encoding encode_pair(std::string_view first, std::string_view second, int max_length) const;

  // As run_qa: white space before the question goes; a context that does not fit into max_length
  // ids is cut into windows, of which each repeats the last `stride` context tokens of the one
  // before (Hugging Face's doc_stride); with truncation_side left, from the end on. Throws
  // Error(kBadInput) when cutting is needed and the question leaves room for at most `stride`
  // tokens.
  std::vector<Window> encode_question(std::string_view question, std::string_view context,
                                      int max_length, int stride) const;

  int vocabulary_size() const;
  // What transformers' scripts cut texts to at most; nothing where the folder does not say.
  std::optional<std::int64_t> max_length() const;
  int padding_id() const;
  // The files of which from_pretrained makes the same tokenizer: of WordPiece vocab.txt,
  // tokenizer.json, tokenizer_config.json and special_tokens_map.json.
  void save(const std::string& folder) const;

 private:
  std::unique_ptr<const Subwords> subwords_;
};

}  // namespace dtl::trainer
