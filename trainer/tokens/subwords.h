#pragma once
// Subwords: how the words of a text become tokens, with special ones around them. The one kind is
// WordPiece (wordpiece.h); a tokenizer of another kind is another class here, and a line where
// folders are loaded (tokenizer.cc). Knows nothing of pairs, lengths and windows, which are alike
// for every kind.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tokens/offset.h"

namespace dtl::trainer {

struct Tokens {
  std::vector<std::int32_t> ids;  // of the text alone, without special tokens around it
  std::vector<Offset> offsets;    // one for each id, where they were asked for
};

// What a model sees of a text: [CLS] text [SEP], or [CLS] first [SEP] second [SEP].
struct Frame {
  std::int32_t first = 0, separator = 0, padding = 0;  // ids: [CLS], [SEP], [PAD]
  std::int8_t second_type = 1;  // of the second text's tokens, and of the separator behind them
  bool truncate_left = false;   // too long a text loses its beginning, not its end
  std::optional<std::int64_t> max_length;  // as the files say; nothing where they do not
};

// Immutable once made, therefore usable from several threads.
class Subwords {
 public:
  virtual ~Subwords() = default;

  // A text without tokens, such as blanks alone, gives empty lists.
  // All of the text, whatever its length. Invalid UTF-8 is read as U+FFFD.
  virtual Tokens tokens_of(std::string_view text, bool with_offsets) const = 0;
  virtual const Frame& frame() const = 0;
  virtual int size() const = 0;  // every id is below it
  // The files of which from_pretrained makes the same tokenizer.
  virtual void save(const std::string& folder) const = 0;
};

}  // namespace dtl::trainer
