#pragma once
// JoinChannel: JoinFrames over a stream, for both ends of a JoinRoom's connections. Owns the
// stream; belongs to one io_context thread. send() only queues, so a sender of much data calls
// wait_below() before each frame.

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
  // The next frame except kHere, which the channel handles itself. nullopt at the end of the stream
  // or if the stream fails. Throws Error(kVersion) on garbage.
  awaitable<std::optional<JoinFrame>> receive();
  // Writes queued frames until close(), or after finish() until the queue is empty. A failed write
  // closes the channel.
  awaitable<void> run_writer();
  awaitable<void> wait_below(std::size_t bytes);  // or until close()
  // Until close(): sends kHere every second, and closes the channel if the other side is silent for
  // too long while receive() waits. Too long is kLease, or what its last kHere asked for. Time
  // while `excused` returns true, or while this process was stopped, does not count.
  awaitable<void> run_heartbeats(std::function<bool()> excused = {});
  bool fell_silent() const { return fell_silent_; }  // why the channel is closed
  // Asks the other side once to wait this long, because this process is about to be stopped.
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
  // When the other side was last heard. Checked only while reading_: receive() waits.
  std::chrono::steady_clock::time_point heard_;
  std::chrono::milliseconds patience_;  // from the last kHere
};

// Sends an agent's bytes as kBytes frames. Ends with the stream or the channel; never throws.
awaitable<void> send_bytes(std::shared_ptr<ByteStream> from, std::shared_ptr<JoinChannel> to);

}  // namespace dtl
