#pragma once
// ByteStream: an ordered, reliable stream of bytes in both directions between launcher and agent.
// An ssh channel, the socket pair of a local child or the agent's own stdin and stdout carries it;
// frames and everything above them do not know which. Belongs to one io_context thread. At most one
// read and one write are pending at a time.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "wire/asio.h"

namespace dtl {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next bytes, at least one; an empty string means the end of the stream. Throws Error when
  // the carrier fails ("connection reset by peer").
  virtual awaitable<std::string> read() = 0;
  // Returns when the carrier has accepted all bytes of all pieces, in order; waits while it is
  // full.
  virtual awaitable<void> write_pieces(std::vector<std::string> pieces) = 0;
  awaitable<void> write(std::string bytes) {
    std::vector<std::string> pieces;
    pieces.push_back(std::move(bytes));
    return write_pieces(std::move(pieces));
  }
  // Ends a pending read (empty string) and a pending write (Error); further calls do the same.
  // Idempotent.
  virtual void close() = 0;
};

// The size of the buffer for a stream's next read. Most reads bring a few bytes; a buffer for the
// most that may come would cost 16 page faults each time.
class ReadRoom {
 public:
  explicit ReadRoom(std::size_t most) : most_(most) {}

  std::size_t next() const { return room_; }
  // Bytes that came into next() bytes. A full buffer is a sign that more waits.
  void filled(std::size_t size) {
    if (size >= room_) room_ = most_;
    if (size < kFew / 2) room_ = std::min(kFew, most_);
  }

 private:
  static constexpr std::size_t kFew = 20 << 10;  // a frame of gathered output, which has 16 KiB

  std::size_t most_;
  std::size_t room_ = std::min(kFew, most_);
};

}  // namespace dtl
