#pragma once
// Blanks at the ends of tokens, which some post-processors leave out of offsets. Pure.

#include <cstdint>
#include <string_view>

#include "trainer/pieces/offset.h"

namespace dtl::trainer {

struct TokenBlanks {
  std::int32_t leading = 0, trailing = 0;
};

// White space, and U+0120, as which byte-level vocabularies write a blank.
TokenBlanks blanks_of(std::u32string_view token);

// The offset without blanks, as the tokenizers library computes it: the result may be empty. With
// `keeps_first`, one leading blank stays.
Offset trimmed(Offset offset, TokenBlanks blanks, bool keeps_first);

}  // namespace dtl::trainer
