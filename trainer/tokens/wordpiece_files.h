#pragma once
// The files of a WordPiece tokenizer as one plain value: tokenizer.json or vocab.txt, with
// tokenizer_config.json, special_tokens_map.json and added_tokens.json. If they disagree, uses the
// rules of AutoTokenizer in transformers 5 and logs a notice. Anything that the tokenizer cannot
// implement exactly (another model, another template) is an Error(kBadInput) naming file and key.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/tokens/wordpiece_text.h"

namespace dtl::trainer {

// A token found verbatim in the text, before normalisation or, if `normalized`, after it.
struct AddedToken {
  std::string content = {};
  std::int32_t id = -1;  // -1: the next free id
  bool single_word = false, lstrip = false, rstrip = false, normalized = false;
  bool special = true;
};

// A key such as "cls_token", and its token.
struct NamedToken {
  std::string name;
  AddedToken token;
  bool plain = false;  // written without flags
};

struct TokenizerRules {
  std::vector<std::string> vocabulary;  // by id; the last duplicate wins; empty: a gap
  std::int32_t empty_token = -1;        // the id of "", if that is a token and not a gap
  std::vector<AddedToken> added;
  // transformers' class that reads the files again; empty: BertTokenizer, or the one for any file.
  std::string class_name;
  // Special tokens in the file with other names, to write them again.
  std::vector<NamedToken> other_named;
  std::vector<std::string> extra_special;
  TextRules text;
  std::string unknown = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
  std::string prefix = "##";
  int max_word_characters = 100;
  bool truncate_left = false;   // truncation removes the beginning of a text, not its end
  bool types = true;            // false: the second text of a pair has type 0
  int separators = 1;           // between the texts of a pair; see Frame
  std::int8_t second_type = 1;  // 0: that text has type 0 even with types
  // Offsets leave out blanks at the ends of tokens. With `keeps_blank`, one blank before the first
  // token counts as put there by the tokenizer.
  bool trims_offsets = false, keeps_blank = false;
  std::optional<std::int64_t> model_max_length = 512;
};

struct TokenizerConfig;
enum class TokenizerKind;

// The rules of a folder with tokenizer.json or vocab.txt, for a class of that kind.
TokenizerRules read_rules(const std::string& folder, TokenizerKind kind,
                          const TokenizerConfig& config);
// Rules for a plain vocabulary, with its special tokens.
TokenizerRules make_rules(std::vector<std::string> vocabulary, bool lower_case);
// Writes files that from_pretrained reads; see wordpiece_write.cc.
void write_rules(const std::string& folder, const TokenizerRules& rules);
// The id of an added token or a token of the vocabulary; -1 if there is none.
std::int32_t id_of(const TokenizerRules& rules, const std::string& token);

}  // namespace dtl::trainer
