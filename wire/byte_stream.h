#pragma once
// ByteStream: an ordered, reliable stream of bytes in both directions between launcher and agent,
// whatever carries it: an ssh channel, the socket pair of a local child, the agent's own stdin and
// stdout. So frames and everything above them know no carrier. Belongs to one io_context thread. At
// most one read and one write are pending at a time.

#include <string>
#include <utility>
#include <vector>

#include "wire/asio.h"

namespace dtl {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next bytes, at least one; an empty string is the end of the stream. Throws Error when the
  // carrier failed ("connection reset by peer").
  virtual awaitable<std::string> read() = 0;
  // Returns when all bytes of all pieces, in order, have been accepted by the carrier; waits while
  // it is full.
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
