#pragma once
// Connection: messages over a ByteStream. Owns the stream; belongs to one io_context thread.
// Sending never waits: messages are queued, heartbeats jump the queue; a queue above
// kMaxQueuedBytes closes the stream. Who produces much waits for wait_below() before each send.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/asio.h"
#include "wire/byte_stream.h"
#include "wire/frame.h"

namespace dtl {

class Connection {
 public:
  // A link that does not take this much is stuck; room for a node's Start messages.
  static constexpr std::size_t kMaxQueuedBytes = 16 << 20;

  // `received` holds bytes that arrived together with the greeting.
  Connection(asio::io_context& context, std::unique_ptr<ByteStream> stream, std::string received);

  // Throws Error(kUsage) when the message is beyond its limits. After close() it does nothing.
  void send(Message message);
  // The next message; nullopt at the end of the stream. Throws Error(kVersion) on garbage and what
  // ByteStream::read throws.
  awaitable<std::optional<Message>> receive();
  // Writes what send() queued until close(); run it as a task of its own beside the reader. After
  // finish() it returns once the queue is empty. Throws what ByteStream::write throws.
  awaitable<void> run_writer();
  // Returns when fewer than `bytes` wait in the queue, or after close().
  awaitable<void> wait_below(std::size_t bytes);
  std::size_t queued_bytes() const { return queued_bytes_; }
  // No more messages: lets run_writer() end after the last one.
  void finish();
  void close();
  bool closed() const { return closed_; }

 private:
  std::vector<std::string> next_batch();

  std::unique_ptr<ByteStream> stream_;
  FrameReader reader_;
  std::deque<Frame> urgent_, normal_;  // without their sequence numbers
  std::size_t queued_bytes_ = 0;       // of both queues and the batch being written
  std::uint32_t sequence_ = 0;
  asio::steady_timer wake_, drained_;  // never expire; cancelled to wake their waiters
  bool closed_ = false, finishing_ = false;
};

}  // namespace dtl
