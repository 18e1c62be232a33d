#pragma once
// tokenizer.json, where the tokenizers library keeps a whole tokenizer.

#include <optional>
#include <string>

#include "trainer/tokens/wordpiece_files.h"

namespace dtl::trainer {

struct TokenizerJson {
  TokenizerRules rules;  // added: as listed, with the ids that the file gives them
  std::optional<bool> truncate_left;
};

// Throws Error(kBadInput) naming file, place and key for anything but a tokenizer of BERT's kind.
TokenizerJson read_tokenizer_json(const std::string& path);

}  // namespace dtl::trainer
