#pragma once
// Offset: a token's position in a text. Code points, not bytes: predictions cut the context as
// Python does.

#include <cstdint>

namespace dtl::trainer {

// The Unicode code points [begin, end) of the original text, before normalisation, that a token
// comes from. -1, -1: the token is not from that text.
struct Offset {
  std::int32_t begin = -1, end = -1;

  bool operator==(const Offset&) const = default;
};

}  // namespace dtl::trainer
