#pragma once
// What the files beside a vocabulary say of its tokens: tokenizer_config.json, and, where that has
// no added_tokens_decoder, special_tokens_map.json and added_tokens.json. As AutoTokenizer of
// transformers 5 reads them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

struct TokenizerConfig {
  std::string class_name;  // tokenizer_class; config.json's without it; or empty
  std::optional<bool> lower_case, strip_accents, chinese_apart;
  std::optional<bool> truncate_left;
  std::optional<bool> types;  // whether model_input_names has token_type_ids
  std::optional<std::int64_t> model_max_length;
  std::vector<NamedToken> named;   // unk_token and its like
  std::vector<AddedToken> listed;  // with the ids that their file gives them
  bool has_decoder = false;        // added_tokens_decoder, which leaves the other lists out
  std::vector<AddedToken> extra;   // special tokens without a name
  // Tokens of files that do not count because of it, with the file's name before them.
  std::vector<NamedToken> left_out;
};

// Throws Error(kBadInput) naming file, place and key.
TokenizerConfig read_tokenizer_config(const std::string& folder);

}  // namespace dtl::trainer
