#pragma once
// Rank 0's display during training: a line on each log(), and a bar below it if standard output
// reaches a terminal, directly or through dtlaunch. Both fit its width. Other ranks print nothing.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "trainer/step/trainer.h"

namespace dtl::trainer {

// Shares of a step's time and of the machine's peak. Below 0: unknown and not shown.
struct StepShares {
  double gemm_peak = -1;  // compute rate, as a share of the matrix library's peak
  double network = -1;    // share of the time spent waiting for other ranks
};

class Progress {
 public:
  // first_step: number of steps already done. bar: draw a bar if there is a terminal.
  Progress(bool speaks, std::int64_t total_steps, std::int64_t first_step, bool bar);
  ~Progress();  // removes the bar

  // Counts a step and redraws the bar when due.
  void step(const StepReport& report, const StepShares& shares);

  struct Line {
    double mean_loss = 0;  // over the steps since the last line
    double tokens_per_second = 0;
  };
  // Prints a line about the steps since the last one.
  Line log();

  // Removes the bar so that another line can be printed. The next step redraws it.
  void clear();
  // Starts time without training, such as evaluation, which speeds exclude.
  void pause();
  void go_on();

  double mean_loss() const;  // over all steps
  double seconds() const;    // since construction, including pauses
  std::int64_t tokens() const { return tokens_; }

 private:
  using Clock = std::chrono::steady_clock;
  double training_seconds(Clock::time_point since, double paused_then) const;
  void draw();

  bool speaks_, bar_;
  bool own_terminal_ = true;  // false: dtlaunch's terminal
  std::int64_t total_steps_;
  // shown_: when the bar was last drawn.
  Clock::time_point start_, line_start_, shown_, pause_start_;
  double paused_ = 0, line_paused_ = 0;  // seconds
  double loss_sum_ = 0, line_loss_ = 0;
  std::int64_t steps_ = 0, line_steps_ = 0, tokens_ = 0, line_tokens_ = 0;
  StepReport last_;
  StepShares shares_;
  std::size_t drawn_ = 0;  // columns of the bar on the terminal
};

struct BarFigures {
  std::int64_t step = 0, total_steps = 1;
  double seconds = 0, seconds_left = 0;
  double seconds_per_step = 0;
  double loss = 0;
  double tokens_per_second = 0;
  StepShares shares;
};

// A line of at most `columns` columns: the share done, a bar, and the most important figures that
// fit. ASCII.
std::string bar_text(const BarFigures& figures, std::size_t columns);

struct LineFigures {
  std::int64_t step = 0, total_steps = 1;
  double epoch = 0, loss = 0, learning_rate = 0, gradient_norm = 0;
  double tokens_per_second = 0;
  StepShares shares;
  double seconds_left = 0;
};

// All figures, or the most important that fit in `columns`.
std::string line_text(const LineFigures& figures, std::optional<std::size_t> columns);

// "1:05", "2:03:04"
std::string duration_text(double seconds);

// Prints one line on standard output and flushes it.
void say(const std::string& text);

}  // namespace dtl::trainer
