#pragma once
// Lookout: decides whether to keep polling while nothing moves, or to sleep. Waking takes longer
// than a short operation, but polling takes the core away from ranks that compute. So the length of
// the last wait decides. Owned by EngineProgress; does not read a clock itself.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace dtl::ring {

// Milliseconds to sleep until a deadline; 0 if it has passed. The limit of 1000 s keeps it in an
// int; the thread then checks again.
inline int ms_until(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000000));
}

class Lookout {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Lookout(std::chrono::microseconds spin) : spin_(spin) {}

  void note_move(Clock::time_point now) { last_wait_ = now - *std::exchange(since_, std::nullopt); }
  bool is_waiting() const { return since_.has_value(); }
  // Waiting for peers to begin an operation says nothing about the speed of links.
  void note_beginning() { last_wait_ = {}; }
  // Whether polling on is useless while nothing moves. It is for long operations over links slower
  // than this host: over 0.4 Gbit/s polling took most of the processor time. A short sleep may look
  // long because waking takes long, so polling is sometimes tried again.
  bool is_in_vain(Clock::time_point now, bool is_hurried) {
    if (!since_) since_ = now;
    const bool is_slow = !is_hurried && last_wait_ > spin_;
    asleep_ = is_slow && asleep_ < kMostAsleep ? asleep_ + 1 : 0;
    return asleep_ > 0;
  }
  std::chrono::microseconds spin() const { return spin_; }

 private:
  static constexpr int kMostAsleep = 16;  // consecutive waits

  const std::chrono::microseconds spin_;
  std::optional<Clock::time_point> since_;  // nothing has moved since then
  Clock::duration last_wait_{};
  int asleep_ = 0;
};

}  // namespace dtl::ring
