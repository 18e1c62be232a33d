#pragma once
// SignalVotes: lets all ranks respond to a signal in the same step, although it may reach them in
// different steps. Call begin() before a step and end() after it; the ranks exchange votes during
// the step.

#include <chrono>

#include "trainer/step/ranks.h"

namespace dtl::trainer {

class SignalVotes {
 public:
  explicit SignalVotes(Ranks& group) : group_(group) {}

  struct Asked {
    int stop = 0;             // SIGTERM or SIGINT; 0: go on
    bool checkpoint = false;  // SIGUSR1 or SIGUSR2
  };
  void begin();
  Asked end();

 private:
  using Clock = std::chrono::steady_clock;

  bool wants_checkpoint();

  Ranks& group_;
  float votes_[3] = {};  // SIGTERM, SIGINT, a checkpoint; then their sums
  dt_work work_ = {};
  int fulfilled_ = 0;  // value of CheckpointSignal::count() whose requests are done
  Clock::time_point agreed_at_ = Clock::time_point::min();
};

}  // namespace dtl::trainer
