#pragma once
// Offset: a place in a text, as every tokenizer gives it and answers to questions need it.
// Code points, not bytes: predictions cut the context as Python does.

#include <cstdint>

namespace dtl::trainer {

// The place of a token in the text that it comes from: Unicode code points [begin, end) of the text
// as given, not as normalised. -1, -1: it is not of that text.
struct Offset {
  std::int32_t begin = -1, end = -1;

  bool operator==(const Offset&) const = default;
};

}  // namespace dtl::trainer
