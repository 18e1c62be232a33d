#pragma once
// Deadline: runs a function at a given time unless it is destroyed before. If that function closes
// a stream, the stream's reader sees the end. One io_context thread.

#include <chrono>
#include <functional>
#include <memory>

#include "wire/asio.h"
#include "wire/byte_stream.h"

namespace dtl {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  Deadline(asio::io_context& context, Clock::time_point when, std::function<void()> when_passed);
  ~Deadline() { *state_ = State::kOff; }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  bool passed() const { return *state_ == State::kPassed; }
  void postpone(Clock::duration from_now);  // not after it has passed

 private:
  enum class State { kSet, kPassed, kOff };
  void set(Clock::time_point when);

  asio::steady_timer timer_;
  std::function<void()> when_passed_;
  // Shared with the timer's handler, which may already be queued when this object is destroyed.
  std::shared_ptr<State> state_ = std::make_shared<State>(State::kSet);
};

// Closes the stream, which must outlive this.
class StreamDeadline : public Deadline {
 public:
  StreamDeadline(asio::io_context& context, ByteStream& stream, Clock::time_point when)
      : Deadline(context, when, [&stream] { stream.close(); }) {}
  StreamDeadline(asio::io_context& context, ByteStream& stream, Clock::duration from_now)
      : StreamDeadline(context, stream, Clock::now() + from_now) {}
};

}  // namespace dtl
