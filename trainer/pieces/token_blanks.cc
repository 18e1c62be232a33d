#include "trainer/pieces/token_blanks.h"

#include <algorithm>

#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr char32_t kSeenBlank = 0x120;

}  // namespace

TokenBlanks blanks_of(std::u32string_view token) {
  const auto is_blank = [](char32_t c) { return c == kSeenBlank || is_white_space(c); };
  TokenBlanks blanks;
  const auto length = static_cast<std::int32_t>(token.size());
  const auto at = [&](std::int32_t place) { return token[static_cast<std::size_t>(place)]; };
  while (blanks.leading < length && is_blank(at(blanks.leading))) ++blanks.leading;
  while (blanks.trailing < length && is_blank(at(length - 1 - blanks.trailing))) ++blanks.trailing;
  return blanks;
}

Offset trimmed(Offset offset, TokenBlanks blanks, bool keeps_first) {
  if (keeps_first && blanks.leading == 1) blanks.leading = 0;
  if (blanks.leading > 0) offset.begin = std::min(offset.begin + blanks.leading, offset.end);
  if (blanks.trailing > 0 && offset.end >= blanks.trailing) {
    offset.end = std::max(offset.end - blanks.trailing, offset.begin);
  }
  return offset;
}

}  // namespace dtl::trainer
