#include "trainer/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace dtl::trainer {
namespace {

constexpr auto kRefresh = std::chrono::milliseconds(100);  // of the line on a terminal

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Progress::Progress(bool speaks, std::int64_t total_steps, std::int64_t every, Results& results)
    : speaks_(speaks),
      terminal_(speaks && ::isatty(STDOUT_FILENO) == 1),
      total_steps_(total_steps),
      every_(every),
      results_(results),
      start_(Clock::now()),
      last_line_(start_),
      last_shown_(start_) {}

void Progress::step(const StepReport& report) {
  loss_sum_ += report.loss;
  line_loss_ += report.loss;
  tokens_ += report.tokens;
  line_tokens_ += report.tokens;
  ++steps_;
  ++line_steps_;
  if (!speaks_) return;
  const bool full_line = report.step % every_ == 0 || report.step == total_steps_;
  const Clock::time_point now = Clock::now();
  if (!full_line && !(terminal_ && now - last_shown_ > kRefresh)) return;
  last_shown_ = now;
  const double loss = line_loss_ / static_cast<double>(line_steps_);
  const double speed =
      static_cast<double>(line_tokens_) / std::max(1e-9, seconds_between(last_line_, now));
  const std::string text = line(report, loss, speed);
  if (!full_line) {
    fmt::print("\r{}\033[K", text);
    std::fflush(stdout);
    return;
  }
  say(terminal_ ? "\r" + text + "\033[K" : text);
  results_.log_step(report, loss, speed);
  last_line_ = now;
  line_loss_ = 0;
  line_steps_ = line_tokens_ = 0;
}

std::string Progress::line(const StepReport& report, double loss, double tokens_per_second) const {
  const double left =
      seconds() / static_cast<double>(steps_) * static_cast<double>(total_steps_ - report.step);
  return fmt::format(
      "step {:>{}}/{}  epoch {:.2f}  loss {:.4f}  lr {:.3g}  grad_norm {:.3g}  {:.0f} tokens/s  "
      "ETA "
      "{}",
      report.step, fmt::formatted_size("{}", total_steps_), total_steps_, report.epoch, loss,
      report.learning_rate, report.gradient_norm, tokens_per_second, duration_text(left));
}

double Progress::mean_loss() const {
  return loss_sum_ / static_cast<double>(std::max<std::int64_t>(1, steps_));
}

double Progress::seconds() const {
  return seconds_between(start_, Clock::now());
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

}  // namespace dtl::trainer
