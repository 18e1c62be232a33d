#pragma once
// The files of a WordPiece tokenizer as one plain value: tokenizer.json or vocab.txt, with
// tokenizer_config.json, special_tokens_map.json and added_tokens.json. Where they disagree, the
// rules are those of the tokenizer that AutoTokenizer of transformers 5 makes of the folder, and
// the log says so. Everything that the tokenizer could not follow exactly (another model, another
// template) is an Error(kBadInput) naming file and key.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/tokens/wordpiece_text.h"

namespace dtl::trainer {

// A token found verbatim in the text, before (or, when normalized, after) normalisation.
struct AddedToken {
  std::string content = {};
  std::int32_t id = -1;  // -1: the next one behind those that are there
  bool single_word = false, lstrip = false, rstrip = false, normalized = false;
  bool special = true;
};

// "cls_token", and the token of this name.
struct NamedToken {
  std::string name;
  AddedToken token;
};

struct TokenizerRules {
  std::vector<std::string> vocabulary;  // by id; a later duplicate wins; empty: a gap
  std::int32_t empty_token = -1;        // the id of "", where that is a token and no gap
  std::vector<AddedToken> added;
  // What the file says of special tokens besides the names below, to be written again.
  std::vector<NamedToken> other_named;
  std::vector<std::string> extra_special;
  TextRules text;
  std::string unknown = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
  std::string prefix = "##";
  int max_word_characters = 100;
  bool truncate_left = false;  // too long a text loses its beginning, not its end
  bool types = true;           // false: the second text of a pair has type 0, too
  std::optional<std::int64_t> model_max_length = 512;
};

// Rules of a plain vocabulary, with the special tokens that it contains.
TokenizerRules make_rules(std::vector<std::string> vocabulary, bool lower_case);
TokenizerRules read_rules(const std::string& folder);
// As from_pretrained reads them again; see wordpiece_write.cc.
void write_rules(const std::string& folder, const TokenizerRules& rules);
// Of an added token, or of one of the vocabulary; -1 where there is none.
std::int32_t id_of(const TokenizerRules& rules, const std::string& token);

}  // namespace dtl::trainer
