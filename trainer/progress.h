#pragma once
// What rank 0 shows while it trains: a line every so many steps, and on a terminal a line that is
// written over in between. Other ranks stay silent.

#include <chrono>
#include <cstdint>
#include <string>

#include "trainer/results.h"
#include "trainer/train.h"

namespace dtl::trainer {

class Progress {
 public:
  // every: steps between two lines.
  Progress(bool speaks, std::int64_t total_steps, std::int64_t every, Results& results);

  void step(const StepReport& report);

  double mean_loss() const;  // over all steps
  double seconds() const;    // since construction
  std::int64_t tokens() const { return tokens_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const StepReport& report, double loss, double tokens_per_second) const;

  bool speaks_, terminal_;
  std::int64_t total_steps_, every_;
  Results& results_;
  Clock::time_point start_, last_line_, last_shown_;
  double loss_sum_ = 0, line_loss_ = 0;
  std::int64_t steps_ = 0, line_steps_ = 0, tokens_ = 0, line_tokens_ = 0;
};

// "1:05", "2:03:04"
std::string duration_text(double seconds);

// One line on standard output, at once.
void say(const std::string& text);

}  // namespace dtl::trainer
