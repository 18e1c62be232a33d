#pragma once
// JoinChannel: JoinFrames over a stream. Owns it; belongs to one io_context thread. send() queues;
// who produces much waits for wait_below() before each.

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "launcher/join/join_words.h"
#include "wire/asio.h"
#include "wire/byte_stream.h"

namespace dtl {

class JoinChannel {
 public:
  JoinChannel(asio::io_context& context, std::unique_ptr<ByteStream> stream);

  void send(JoinFrame frame);  // after close() it does nothing
  // nullopt at the end of the stream, and when the carrier fails. Throws Error(kVersion) on
  // garbage.
  awaitable<std::optional<JoinFrame>> receive();
  // Writes what is queued until close(), or until the queue is empty after finish(). Closes the
  // channel when nobody takes it any more.
  awaitable<void> run_writer();
  awaitable<void> wait_below(std::size_t bytes);  // or until close()
  void finish();
  void go_on() { finishing_ = false; }  // after the run_writer() of a finish() has returned
  void close();
  bool closed() const { return closed_; }

 private:
  std::unique_ptr<ByteStream> stream_;
  JoinFrameReader reader_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  asio::steady_timer wake_, drained_;  // never expire; cancelled to wake their waiters
  bool closed_ = false, finishing_ = false;
};

// From one end of an agent's stream to the other, as kBytes; ends with the stream or the channel.
awaitable<void> send_bytes(std::shared_ptr<ByteStream> from, std::shared_ptr<JoinChannel> to);

}  // namespace dtl
