#pragma once
// Lookout: whether whoever drives should go on looking while nothing moves, or sleep. Waking takes
// longer than a short operation does; but looking takes the core away from ranks that compute. So
// it goes by how long the last wait was. Owned by EngineProgress; reads no clock itself.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace dtl::ring {

// How long to sleep for a deadline, in ms; one that has passed counts as now. The bound of 1000 s
// keeps it in an int, and whoever wakes looks again.
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
  // The wait for peers to begin an operation does not say how fast links are.
  void note_beginning() { last_wait_ = {}; }
  // Nothing moves: whether looking on is useless. It is for long operations over links that are
  // slower than this host: over 0.4 Gbit/s it took most of the processor time. A short sleep may
  // look long because waking takes long, so now and then looking is tried again.
  bool is_in_vain(Clock::time_point now, bool is_hurried) {
    if (!since_) since_ = now;
    const bool is_slow = !is_hurried && last_wait_ > spin_;
    asleep_ = is_slow && asleep_ < kMostAsleep ? asleep_ + 1 : 0;
    return asleep_ > 0;
  }
  std::chrono::microseconds spin() const { return spin_; }

 private:
  static constexpr int kMostAsleep = 16;  // waits in a row

  const std::chrono::microseconds spin_;
  std::optional<Clock::time_point> since_;  // when nothing has moved since
  Clock::duration last_wait_{};
  int asleep_ = 0;
};

}  // namespace dtl::ring
