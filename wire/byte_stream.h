#pragma once
// ByteStream: an ordered, reliable stream of bytes in both directions between launcher and agent.
// An ssh channel, the socket pair of a local child or the agent's own stdin and stdout carries it;
// frames and everything above them do not know which. Belongs to one io_context thread. At most one
// read and one write are pending at a time.

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

}  // namespace dtl
