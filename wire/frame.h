#pragma once
// Frames: a 16-byte little-endian header {u32 body length, u16 type, u16 flags, u32 crc32c of the
// body, u32 sequence number} and a body. FrameReader is a pure decoder: bytes in, messages out;
// no allocation from a length before it has been checked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"

namespace dtl {

constexpr std::size_t kFrameHeaderBytes = 16;

// One whole frame. Throws Error(kUsage) naming the field when the message is beyond its limits,
// e.g. an argument longer than kMaxArgumentBytes or an environment that does not fit in a frame.
std::string encode_frame(const Message& message, std::uint32_t sequence);

// Gives a frame made by encode_frame another sequence number; its checksum covers the body only.
void set_frame_sequence(std::string& frame, std::uint32_t sequence);

// The same ranks in as few Start messages as fit in frames, in order, each with the secret.
// Throws Error(kUsage) when one rank alone is too large.
std::vector<Start> split_start(const Start& start);

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
