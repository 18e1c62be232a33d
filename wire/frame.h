#pragma once
// Frames: a 16-byte little-endian header {u32 body length, u16 type, u16 flags, u32 crc32c of the
// body, u32 sequence number} and a body. FrameReader is a pure decoder: bytes in, messages out;
// no allocation from a length before it has been checked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/messages.h"

namespace dtl {

// One whole frame. Asserts that the message is within its limits.
std::string encode_frame(const Message& message, std::uint32_t sequence);

class FrameReader {
 public:
  void feed(std::string_view bytes);
  // The next whole message; nullopt when more bytes are needed. Throws Error(kVersion) on garbage:
  // unknown type, length over the limit, wrong checksum or sequence, a field over its bound. After
  // a throw the reader must not be used again.
  std::optional<Message> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
  std::uint32_t expected_sequence_ = 0;
};

const char* message_name(const Message& message);

}  // namespace dtl
