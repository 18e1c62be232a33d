#pragma once
// ByteLevel: splits texts by GPT-2's regular expression, for vocabularies whose tokens are bytes.
// Such a vocabulary writes each byte as a character that can be seen: a blank as U+0120. Pure;
// immutable after construction.

#include <optional>
#include <string>
#include <string_view>

#include "trainer/pieces/text_steps.h"

namespace dtl::trainer {

// The character that stands for a byte in a vocabulary: itself if it can be seen in Latin-1, else
// the next one from U+0100.
char32_t byte_character(unsigned char byte);
// The bytes of a token of a vocabulary; nothing if another character is in it.
std::optional<std::string> bytes_of_token(std::string_view token);

class ByteLevel : public PreTokenizer {
 public:
  struct Rules {
    bool add_prefix_space = false;  // puts a blank before a part that does not begin with one
    bool use_regex = true;          // false: each part is one piece
  };
  explicit ByteLevel(Rules rules) : rules_(rules) {}

  // Pieces keep their characters: their UTF-8 bytes are the bytes to match.
  void pre_tokenize(SplitText& split) const override;

 private:
  Rules rules_;
};

}  // namespace dtl::trainer
