#pragma once
// Frames: a 16-byte little-endian header {u32 body length, u16 type, u16 flags, u32 crc32c of the
// body, u32 sequence number} and a body. FrameReader is a pure decoder: bytes in, messages out. It
// checks a length before it allocates. Output bytes are copied once here, from the received bytes
// to the message.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"

namespace dtl {

constexpr std::size_t kFrameHeaderBytes = 16;

// A frame's bytes in two parts, to be written one after the other. The second is a message's large
// content, moved without a copy.
struct Frame {
  std::string head;  // the header and all fields
  std::string tail;  // the bytes of the last field; only Output has them

  std::size_t size() const { return head.size() + tail.size(); }
};

// Throws Error(kUsage) naming the field if the message exceeds its limits, e.g. an argument longer
// than kMaxArgumentBytes or an environment that does not fit in a frame.
Frame encode_frame(Message message, std::uint32_t sequence);

// Gives a frame made by encode_frame another sequence number; its checksum covers the body only.
void set_frame_sequence(Frame& frame, std::uint32_t sequence);

// Splits the ranks into as few Start messages as fit in frames, in order, each with the secret.
// shared_bytes: for each rank, the bytes of its environment in Environment messages. Throws
// Error(kUsage) if a single rank, these bytes included, is too large.
std::vector<Start> split_start(Start start, const std::vector<std::size_t>& shared_bytes);

class FrameReader {
 public:
  // first: the sequence number of the first frame.
  explicit FrameReader(std::uint32_t first = 0) : expected_sequence_(first) {}
  void feed(std::string bytes);
  // The next whole message; nullopt if more bytes are needed. Throws Error(kVersion) on garbage:
  // unknown type, length over the limit, wrong checksum or sequence, a field over its bound. Do not
  // use the reader after a throw.
  std::optional<Message> next();
  std::uint64_t bytes_taken() const { return bytes_taken_; }  // by the messages returned
  // The bytes after the last returned message; call it right after that next().
  std::string take_rest();

 private:
  bool gather(std::string& part, std::size_t bytes);

  std::string received_;
  std::size_t at_ = 0;                // received_[0, at_) has been consumed
  std::string header_, body_, tail_;  // of the next message, as far as received
  std::uint32_t expected_sequence_;
  std::uint64_t bytes_taken_ = 0;
};

const char* message_name(const Message& message);

}  // namespace dtl
