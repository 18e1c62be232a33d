#pragma once
// JoinChannel: JoinFrames over a stream, for both ends of a JoinRoom's connections. Owns the
// stream; belongs to one io_context thread. send() never waits: it queues. Whoever produces much
// calls wait_below() before each frame.

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
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
  // The next frame but kHere, which the channel handles itself. nullopt at the end of the stream,
  // and when the stream fails. Throws Error(kVersion) on garbage.
  awaitable<std::optional<JoinFrame>> receive();
  // Writes what is queued, until close(), or after finish() until the queue is empty. A failed
  // write closes the channel.
  awaitable<void> run_writer();
  awaitable<void> wait_below(std::size_t bytes);  // or until close()
  // Until close(): sends kHere every second, and closes the channel when the other side was silent
  // for too long while receive() waited for it. Too long is kLease, or what its last kHere asked
  // for. Does not count while `excused` returns true, nor the time in which this process itself was
  // stopped.
  awaitable<void> run_heartbeats(std::function<bool()> excused = {});
  bool fell_silent() const { return fell_silent_; }  // that is why it is closed
  // Asks the other side once to wait for this long: this process is about to be stopped.
  void ask_for_patience(std::chrono::milliseconds patience);
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
  asio::steady_timer beat_;
  bool closed_ = false, finishing_ = false;
  bool reading_ = false, fell_silent_ = false;
  // When the other side was heard last. Counts only while reading_: receive() waits.
  std::chrono::steady_clock::time_point heard_;
  std::chrono::milliseconds patience_;  // as the last kHere has it
};

// Moves bytes from one end of an agent's stream to the other, as kBytes. Ends with the stream or
// the channel; never throws.
awaitable<void> send_bytes(std::shared_ptr<ByteStream> from, std::shared_ptr<JoinChannel> to);

}  // namespace dtl
