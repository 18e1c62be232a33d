#pragma once
// The files of a WordPiece tokenizer: tokenizer.json, vocab.txt, tokenizer_config.json and
// special_tokens_map.json, as one plain value. Everything that the tokenizer could not follow
// exactly (another model, another template) is an Error(kBadInput) naming the file.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tokens/wordpiece_text.h"

namespace dtl::trainer {

// A token found verbatim in the text, before (or, when normalized, after) normalisation.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false;
  bool special = true;
};

struct TokenizerRules {
  std::vector<std::string> vocabulary;  // by id; a later duplicate wins
  std::vector<AddedToken> added;
  TextRules text;
  std::string unknown = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
  std::string prefix = "##";
  int max_word_characters = 100;
  std::int64_t model_max_length = 512;
};

// Rules of a plain vocabulary, with the special tokens that it contains.
TokenizerRules make_rules(std::vector<std::string> vocabulary, bool lower_case);
// tokenizer.json when the folder has one, otherwise vocab.txt with tokenizer_config.json.
TokenizerRules read_rules(const std::string& folder);
void write_rules(const std::string& folder, const TokenizerRules& rules);

}  // namespace dtl::trainer
