// Rank 0's output on standard output during training. Speeds exclude pauses. Figures come from
// Trainer; this file measures only time.
#include "trainer/report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "trainer/maths/plain_nan.h"
#include "trainer/report/screen_width.h"

namespace dtl::trainer {
namespace {

constexpr auto kRefresh = std::chrono::milliseconds(100);  // for the bar
// Through dtlaunch, which redraws bars no more often.
constexpr auto kLauncherRefresh = std::chrono::milliseconds(200);
// In columns.
constexpr std::size_t kShortestBar = 10, kLongestBar = 60;

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string count_text(double count) {
  if (count >= 1e6) return fmt::format("{:.1f}M", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.1f}k", count / 1e3);
  return fmt::format("{:.0f}", count);
}

std::string pace_text(double seconds_per_step) {
  if (seconds_per_step <= 0) return "";
  if (seconds_per_step >= 1) return fmt::format("{:.2f} s/step", seconds_per_step);
  return fmt::format("{:.2f} steps/s", 1 / seconds_per_step);
}

std::string percent_text(double share, const char* noun) {
  return share >= 0 ? fmt::format("  {:.0f}% {}", share * 100, noun) : std::string();
}

std::size_t columns_now() {
  return screen_width().value_or(ScreenWidth{}).columns;
}

}  // namespace

std::string bar_text(const BarFigures& f, std::size_t columns) {
  const double done = std::clamp(
      static_cast<double>(f.step) / static_cast<double>(std::max<std::int64_t>(1, f.total_steps)),
      0.0, 1.0);
  const std::string head = fmt::format("{:3.0f}% ", std::floor(done * 100));
  // In order of importance: figures that do not fit are left out.
  std::vector<std::string> figures = {
      fmt::format("  {}/{}", f.step, f.total_steps),
      fmt::format("  ETA {}", duration_text(f.seconds_left)),
      fmt::format("  loss {:.4f}", f.loss),
      fmt::format("  {} tokens/s", count_text(f.tokens_per_second)),
  };
  if (f.shares.gemm_peak >= 0) {
    figures.push_back(fmt::format("  GEMM {:.0f}%", f.shares.gemm_peak * 100));
  }
  if (f.shares.network >= 0) {
    figures.push_back(fmt::format("  net {:.0f}%", f.shares.network * 100));
  }
  const std::string pace = pace_text(f.seconds_per_step);
  if (!pace.empty()) figures.push_back("  " + pace);
  figures.push_back(fmt::format("  {} so far", duration_text(f.seconds)));

  std::string tail;
  for (const std::string& figure : figures) {
    // 2 columns for the brackets.
    if (head.size() + kShortestBar + 2 + tail.size() + figure.size() > columns) break;
    tail += figure;
  }
  const std::size_t taken = head.size() + 2 + tail.size();
  if (taken >= columns) return head.substr(0, columns);
  const std::size_t length = std::min(kLongestBar, columns - taken);
  const auto full = static_cast<std::size_t>(done * static_cast<double>(length));
  return head + "[" + std::string(full, '#') + std::string(length - full, '.') + "]" + tail;
}

std::string line_text(const LineFigures& f, std::optional<std::size_t> columns) {
  struct Figure {
    int importance;  // 0: the highest
    std::string text;
  };
  const Figure figures[] = {
      {0, fmt::format("step {:>{}}/{}", f.step, fmt::formatted_size("{}", f.total_steps),
                      f.total_steps)},
      {3, fmt::format("  epoch {:.2f}", f.epoch)},
      {1, fmt::format("  loss {:.4f}", f.loss)},
      {5, fmt::format("  lr {:.3g}", f.learning_rate)},
      {6, fmt::format("  grad_norm {:.3g}", plain_nan(f.gradient_norm))},
      {4, fmt::format("  {:.0f} tokens/s", f.tokens_per_second)},
      {8, percent_text(f.shares.gemm_peak, "of GEMM peak")},
      {7, percent_text(f.shares.network, "network")},
      {2, fmt::format("  ETA {}", duration_text(f.seconds_left))},
  };
  std::string line;
  for (int least = 8; least >= 0; --least) {
    line.clear();
    for (const Figure& figure : figures) {
      if (figure.importance <= least) line += figure.text;
    }
    if (!columns || line.size() <= *columns) break;
  }
  return line;
}

Progress::Progress(bool speaks, std::int64_t total_steps, std::int64_t first_step, bool bar)
    : speaks_(speaks),
      bar_(speaks && bar && screen_width()),
      own_terminal_(screen_width().value_or(ScreenWidth{}).own),
      total_steps_(total_steps),
      start_(Clock::now()),
      line_start_(start_),
      shown_(start_) {
  last_.step = first_step;
}

Progress::~Progress() {
  clear();
}

void Progress::step(const StepReport& report, const StepShares& shares) {
  loss_sum_ += report.loss;
  line_loss_ += report.loss;
  tokens_ += report.tokens;
  line_tokens_ += report.tokens;
  ++steps_;
  ++line_steps_;
  last_ = report;
  shares_ = shares;
  if (bar_ && Clock::now() - shown_ > (own_terminal_ ? kRefresh : kLauncherRefresh)) draw();
}

double Progress::training_seconds(Clock::time_point since, double paused_then) const {
  // Never 0, because speeds divide by it.
  return std::max(1e-9, seconds_between(since, Clock::now()) - (paused_ - paused_then));
}

void Progress::draw() {
  const double trained = training_seconds(start_, 0);
  // Average over all steps of this run: the first steps are slower, but the estimate is stable.
  const double pace = trained / static_cast<double>(std::max<std::int64_t>(1, steps_));
  BarFigures f;
  f.step = last_.step;
  f.total_steps = total_steps_;
  f.seconds = seconds();
  f.seconds_per_step = pace;
  f.seconds_left = pace * static_cast<double>(total_steps_ - last_.step);
  f.loss = last_.loss;
  f.tokens_per_second = static_cast<double>(tokens_) / trained;
  f.shares = shares_;
  // Use one column less: some terminals wrap after the last column.
  const std::string text = bar_text(f, columns_now() - 1);
  if (own_terminal_) {
    clear();
    fmt::print("{}", text);
  } else {
    fmt::print("\r{:<{}}", text, drawn_);
  }
  std::fflush(stdout);
  drawn_ = text.size();
  shown_ = Clock::now();
}

// If the window became narrower, the bar takes several rows. dtlaunch clears its own bars; for
// them, write blanks, because lines to dtlaunch must not contain escape sequences.
void Progress::clear() {
  if (drawn_ == 0) return;
  if (own_terminal_) {
    const std::size_t rows_above = (drawn_ - 1) / columns_now();
    if (rows_above > 0) fmt::print("\033[{}A", rows_above);
    fmt::print("\r\033[J");
  } else {
    fmt::print("\r{:{}}\r", "", drawn_);
  }
  std::fflush(stdout);
  drawn_ = 0;
  shown_ = {};  // the next step redraws it
}

Progress::Line Progress::log() {
  Line line;
  line.mean_loss = line_loss_ / static_cast<double>(std::max<std::int64_t>(1, line_steps_));
  line.tokens_per_second =
      static_cast<double>(line_tokens_) / training_seconds(line_start_, line_paused_);
  const double left = training_seconds(start_, 0) /
                      static_cast<double>(std::max<std::int64_t>(1, steps_)) *
                      static_cast<double>(total_steps_ - last_.step);
  if (speaks_) {
    clear();
    const std::optional<ScreenWidth> screen = screen_width();
    say(line_text({last_.step, total_steps_, last_.epoch, line.mean_loss, last_.learning_rate,
                   last_.gradient_norm, line.tokens_per_second, shares_, left},
                  screen ? std::optional(screen->columns) : std::nullopt));
  }
  // The next line's figures start here; those of the whole run continue.
  line_start_ = Clock::now();
  line_paused_ = paused_;
  line_loss_ = 0;
  line_steps_ = line_tokens_ = 0;
  return line;
}

// Evaluation is not training: speeds and estimates exclude it.
void Progress::pause() {
  clear();
  pause_start_ = Clock::now();
}

void Progress::go_on() {
  paused_ += seconds_between(pause_start_, Clock::now());
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
