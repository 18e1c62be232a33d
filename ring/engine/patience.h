#pragma once
// Patience: how long operations wait for other ranks: until a warning, then until a timeout. Both
// name the ranks that are waited for, since a late rank reports nothing itself. Belongs to the
// engine; used with the wheel.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "ring/engine/executor.h"
#include "ring/engine/failures.h"
#include "ring/meeting/rank_names.h"

namespace dtl::ring {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  struct Settings {
    std::chrono::milliseconds operation_timeout{600000}, warn_timeout{30000};
    // Called by the driving thread, with the wheel, so it must not call this library. Null:
    // warnings are only counted.
    void (*warn)(const char* text, void* context) = nullptr;
    void* warn_context = nullptr;
  };
  Patience(int rank, const Settings& settings, const RankNames& names, const Executor& executor,
           Failures& failures)
      : rank_(rank), settings_(settings), names_(names), executor_(executor), failures_(failures) {}

  void begin(OperationTimer& timer);  // at the next call of the others
  void look_at_time(Clock::time_point now);
  // max(): nothing is waiting.
  Clock::time_point next_deadline();
  std::uint64_t warnings() const { return warnings_.load(); }  // from any thread

 private:
  void start_timers(Clock::time_point now);
  void warn_of(ActiveOperation& active);
  void give_up(const ActiveOperation& active);
  std::string whom_it_waits_for(const Schedule& schedule) const;

  const int rank_;
  const Settings settings_;
  const RankNames& names_;
  const Executor& executor_;
  Failures& failures_;
  bool has_unset_ = false;  // timers
  Clock::time_point next_warning_ = Clock::time_point::max();
  std::atomic<std::uint64_t> warnings_{0};
};

}  // namespace dtl::ring
