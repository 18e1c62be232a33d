#pragma once
// The token settings in files beside a vocabulary: tokenizer_config.json and, if that has no
// added_tokens_decoder, special_tokens_map.json and added_tokens.json. Read as AutoTokenizer of
// transformers 5 does.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

struct TokenizerConfig {
  std::string class_name;  // tokenizer_class; else config.json's; or empty
  std::string model_type;  // config.json's; or empty
  std::optional<bool> add_prefix_space, trim_offsets, split_by_punct;
  std::optional<std::int64_t> unknown_id;  // unk_id
  std::optional<bool> lower_case, strip_accents, chinese_apart;
  std::optional<bool> truncate_left;
  std::optional<bool> types;  // whether model_input_names has token_type_ids
  std::optional<std::int64_t> model_max_length;
  std::vector<NamedToken> named;   // unk_token and similar
  std::vector<AddedToken> listed;  // with the ids from their file
  bool has_extra = false;          // a file lists extra, maybe as an empty list
  bool has_decoder = false;        // added_tokens_decoder, which replaces the other lists
  std::vector<AddedToken> extra;   // special tokens without a name
  // Tokens of files that it overrides, each with the file's name.
  std::vector<NamedToken> left_out;
};

// Throws Error(kBadInput) naming file, place and key.
TokenizerConfig read_tokenizer_config(const std::string& folder);

}  // namespace dtl::trainer
