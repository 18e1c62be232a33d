#pragma once
// StopSignal: during its lifetime, the first SIGTERM or SIGINT is stored instead of ending the
// process. The second has its usual effect. At most one object at a time.

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
  static Clock::time_point received_at();  // now, if none was received
};

// SIGUSR1 and SIGUSR2 request a checkpoint; training then continues.
class CheckpointSignal {
 public:
  static void listen();  // from now on the signals do not end the process
  static int count();    // how many were received
};

}  // namespace dtl::trainer
