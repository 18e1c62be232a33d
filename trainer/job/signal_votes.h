#pragma once
// SignalVotes: what signals ask of a training, agreed by all ranks, who may hear of one in
// different steps. The ranks talk while they compute: begin() before a step, end() after it.

#include <chrono>

#include "trainer/step/ranks.h"

namespace dtl::trainer {

class SignalVotes {
 public:
  explicit SignalVotes(Ranks& group) : group_(group) {}

  struct Asked {
    int stop = 0;             // SIGTERM or SIGINT, 0: to go on
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
  int fulfilled_ = 0;  // signals of our own for a checkpoint
  Clock::time_point agreed_at_ = Clock::time_point::min();
};

}  // namespace dtl::trainer
