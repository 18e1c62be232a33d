#pragma once
// Connection: messages over a ByteStream. Owns the stream; belongs to one io_context thread.
// Sending never waits: messages are queued, heartbeats jump the queue; a queue above
// kMaxQueuedBytes closes the stream.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "wire/asio.h"
#include "wire/byte_stream.h"
#include "wire/frame.h"

namespace dtl {

class Connection {
 public:
  // `received` holds bytes that arrived together with the greeting.
  Connection(asio::io_context& context, std::unique_ptr<ByteStream> stream, std::string received);

  void send(const Message& message);
  // The next message; nullopt at the end of the stream. Throws Error(kVersion) on garbage and what
  // ByteStream::read throws.
  awaitable<std::optional<Message>> receive();
  // Writes what send() queued until close(); run it as a task of its own beside the reader.
  awaitable<void> run_writer();
  std::size_t queued_bytes() const { return queued_bytes_; }
  void close();
  ByteStream& stream() { return *stream_; }

 private:
  std::unique_ptr<ByteStream> stream_;
  FrameReader reader_;
  std::deque<Message> urgent_, normal_;
  std::size_t queued_bytes_ = 0;
  std::uint32_t sequence_ = 0;
  asio::steady_timer wake_;
  bool closed_ = false;
};

}  // namespace dtl
