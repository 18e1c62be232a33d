#pragma once
// A message as bytes on the wire.

#include <string>
#include <utility>

#include "wire/frame.h"

namespace dtl {

inline std::string frame_bytes(Message message, std::uint32_t sequence) {
  const Frame frame = encode_frame(std::move(message), sequence);
  return frame.head + frame.tail;
}

}  // namespace dtl
