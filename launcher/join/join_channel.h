#pragma once
// JoinChannel: JoinFrames over a stream. Owns it; belongs to one io_context thread. send() queues;
// who produces much waits for wait_below() before each.

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
  // The next one but kHere, which it takes itself. nullopt at the end of the stream, and when the
  // carrier fails. Throws Error(kVersion) on garbage.
  awaitable<std::optional<JoinFrame>> receive();
  // Writes what is queued until close(), or until the queue is empty after finish(). Closes the
  // channel when nobody takes it any more.
  awaitable<void> run_writer();
  awaitable<void> wait_below(std::size_t bytes);  // or until close()
  // Until close(): says kHere every second, and closes the channel when the other side has sent
  // nothing for kLease, or for as long as its last kHere asks for, while receive() waits for it.
  // Not while `excused` says yes; nor for the time in which this process itself was stopped.
  awaitable<void> run_heartbeats(std::function<bool()> excused = {});
  bool fell_silent() const { return fell_silent_; }  // that is why it is closed
  // The other side is to wait for so long, once. Of a process that is about to be stopped.
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
  std::chrono::steady_clock::time_point heard_;
  std::chrono::milliseconds patience_;  // as the last kHere has it
};

// From one end of an agent's stream to the other, as kBytes; ends with the stream or the channel.
awaitable<void> send_bytes(std::shared_ptr<ByteStream> from, std::shared_ptr<JoinChannel> to);

}  // namespace dtl
