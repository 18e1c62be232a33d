#pragma once
// StopSignal: while it lives, the first SIGTERM or SIGINT is remembered instead of ending the
// process; the second does what it would have done. One at a time.

#include <chrono>

namespace dtl::trainer {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  using Clock = std::chrono::steady_clock;

  static int received();                   // the signal's number, or 0
  static Clock::time_point received_at();  // now, if there was none
};

}  // namespace dtl::trainer
