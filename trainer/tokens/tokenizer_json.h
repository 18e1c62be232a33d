#pragma once
// Reads tokenizer.json, in which the tokenizers library keeps a complete tokenizer.

#include <optional>
#include <string>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

struct TokenizerJson {
  TokenizerRules rules;  // added: as listed, with the file's ids
  std::optional<bool> truncate_left;
};

// Throws Error(kBadInput) naming file, place and key if it is not a BERT tokenizer.
TokenizerJson read_tokenizer_json(const std::string& path);

}  // namespace dtl::trainer
