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

// SIGUSR1 and SIGUSR2 ask for a checkpoint, after which the training goes on.
class CheckpointSignal {
 public:
  static void listen();  // from here on they do not end the process
  static int count();    // how many have come
};

}  // namespace dtl::trainer
