#pragma once
// What rank 0 shows while it trains: a line whenever it is told to, and on a terminal, dtlaunch's
// included, a bar below them. Both fit its width. Other ranks stay silent.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "trainer/step/trainer.h"

namespace dtl::trainer {

// Shares of a step's time and of the machine's best; below 0: unknown, and not shown.
struct StepShares {
  double gemm_peak =
      -1;               // floating-point operations per second, of what the matrix library reaches
  double network = -1;  // of the time, waiting for other ranks
};

class Progress {
 public:
  // first_step: how many steps are done already. bar: draw one if a terminal shows it.
  Progress(bool speaks, std::int64_t total_steps, std::int64_t first_step, bool bar);
  ~Progress();  // removes the bar

  // Counts a step, and draws the bar anew when it is time.
  void step(const StepReport& report, const StepShares& shares);

  struct Line {
    double mean_loss = 0;  // of the steps since the last line
    double tokens_per_second = 0;
  };
  // A line about the steps since the last one.
  Line log();

  // Removes the bar, before somebody else writes a line; the next step draws it again.
  void clear();
  // Time in which nothing is trained, as evaluations: it counts for no speed.
  void pause();
  void go_on();

  double mean_loss() const;  // over all steps
  double seconds() const;    // since construction, with the pauses
  std::int64_t tokens() const { return tokens_; }

 private:
  using Clock = std::chrono::steady_clock;
  double training_seconds(Clock::time_point since, double paused_then) const;
  void draw();

  bool speaks_, bar_;
  bool own_terminal_ = true;  // false: dtlaunch's
  std::int64_t total_steps_;
  // shown_: when the bar was drawn last.
  Clock::time_point start_, line_start_, shown_, pause_start_;
  double paused_ = 0, line_paused_ = 0;  // seconds
  double loss_sum_ = 0, line_loss_ = 0;
  std::int64_t steps_ = 0, line_steps_ = 0, tokens_ = 0, line_tokens_ = 0;
  StepReport last_;
  StepShares shares_;
  std::size_t drawn_ = 0;  // columns of the bar that is on the terminal now
};

struct BarFigures {
  std::int64_t step = 0, total_steps = 1;
  double seconds = 0, seconds_left = 0;
  double seconds_per_step = 0;
  double loss = 0;
  double tokens_per_second = 0;
  StepShares shares;
};

// One line of at most `columns` columns: share done, a bar, and as many figures as there is room
// for, the most important first. ASCII.
std::string bar_text(const BarFigures& figures, std::size_t columns);

struct LineFigures {
  std::int64_t step = 0, total_steps = 1;
  double epoch = 0, loss = 0, learning_rate = 0, gradient_norm = 0;
  double tokens_per_second = 0;
  StepShares shares;
  double seconds_left = 0;
};

// All figures, or with `columns` as many as there is room for, the most important first.
std::string line_text(const LineFigures& figures, std::optional<std::size_t> columns);

// "1:05", "2:03:04"
std::string duration_text(double seconds);

// One line on standard output, at once.
void say(const std::string& text);

}  // namespace dtl::trainer
