#pragma once
// Subwords: turns a text's words into tokens and knows the special tokens. Two implementations:
// WordPiece as BERT has it (wordpiece.h), and the steps of a tokenizer.json (pieces.h). Pairs,
// lengths and windows are the same for every kind, so tokenizer.cc handles them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/pieces/offset.h"

namespace dtl::trainer {

struct Tokens {
  std::vector<std::int32_t> ids;  // of the text alone, without special tokens
  std::vector<Offset> offsets;    // one per id, if requested
  // The offset of a token that is the first of a window; empty if that is the same. A blank that
  // the tokenizer may itself have put before a text counts as part of a first token.
  std::vector<Offset> first_offsets;
};

// How special tokens surround a text: [CLS] text [SEP], or [CLS] first [SEP] second [SEP]. RoBERTa
// has two separators between the texts: <s> first </s></s> second </s>.
struct Frame {
  std::int32_t first = 0, separator = 0, padding = 0;  // ids: [CLS], [SEP], [PAD]
  int separators = 1;                                  // between the texts of a pair: 1 or 2
  // The type of the second text's tokens, of the [SEP] after them, and of a second separator.
  std::int8_t second_type = 1;
  bool truncate_left = false;        // truncation removes the beginning of a text, not its end
  std::optional<std::int32_t> mask;  // [MASK], if there is one
  std::optional<std::int64_t> max_length;  // from the files, if they have it
};

// Begins a word, continues one, or belongs to the frame or stands for a masked token.
enum class TokenKind : std::int8_t { kBegins, kContinues, kSpecial };

// Immutable after construction, so several threads may use it.
class Subwords {
 public:
  virtual ~Subwords() = default;

  // The tokens of the whole text, whatever its length. Empty for a text without tokens, such as
  // only blanks. Invalid UTF-8 reads as U+FFFD.
  virtual Tokens tokens_of(std::string_view text, bool with_offsets) const = 0;
  // The tokens of a word of a text that is split into words already.
  virtual Tokens tokens_of_word(std::string_view word) const { return tokens_of(word, false); }
  virtual const Frame& frame() const = 0;
  virtual int size() const = 0;  // every id is below it
  virtual bool continues_word(std::int32_t id) const = 0;
  // Writes files from which from_pretrained makes the same tokenizer.
  virtual void save(const std::string& folder) const = 0;
};

}  // namespace dtl::trainer
