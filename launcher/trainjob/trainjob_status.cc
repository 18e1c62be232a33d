#include "launcher/trainjob/trainjob_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dtl {
namespace {

using StatusJson = nlohmann::ordered_json;

constexpr double kMostSeconds = 2147483647;  // the server's field has 32 bits

int percent_of(const TrainingProgress& progress) {
  const double done = static_cast<double>(progress.step);
  const double all = static_cast<double>(progress.total_steps);
  return static_cast<int>(std::min(100 * done / all, 99.0));
}

void add_metric(StatusJson& metrics, const char* name, const std::string& value) {
  metrics.push_back({{"name", name}, {"value", value}});
}

// The server keeps values as text. Names as KubeflowCallback's, where it has them.
StatusJson metrics_of(const TrainingProgress& progress, const std::optional<double>& tokens) {
  StatusJson metrics = StatusJson::array();
  if (std::isfinite(progress.loss)) {
    add_metric(metrics, "loss", fmt::format("{:.6g}", progress.loss));
  }
  add_metric(metrics, "current_step", std::to_string(progress.step));
  add_metric(metrics, "total_steps", std::to_string(progress.total_steps));
  if (tokens && std::isfinite(*tokens)) {
    add_metric(metrics, "tokens_per_second", fmt::format("{:.0f}", *tokens));
  }
  return metrics;
}

std::string status_json(int percent, const std::optional<std::int64_t>& remaining,
                        const StatusJson& metrics, std::time_t wall) {
  StatusJson status;
  status["progressPercentage"] = percent;
  if (remaining) status["estimatedRemainingSeconds"] = *remaining;
  status["metrics"] = metrics;
  status["lastUpdatedTime"] = utc_text(wall);
  return StatusJson{{"trainerStatus", status}}.dump();
}

bool is_same(const TrainingProgress& a, const TrainingProgress& b) {
  return a.step == b.step && a.total_steps == b.total_steps;
}

}  // namespace

void TrainJobStatus::add(const RankReport& report, double now) {
  pace_.add(report, now);
  const auto progress = pace_.progress();
  if (!progress || progress->total_steps == 0) return;
  if (!told_ || !is_same(*told_, *progress)) is_new_ = true;
  told_ = progress;
  // A script may train several models, one after another.
  if (first_step_ && progress->step >= *first_step_) return;
  first_step_ = progress->step;
  first_time_ = now;
}

void TrainJobStatus::restart() {
  pace_.restart();
  first_step_.reset();
}

std::optional<std::int64_t> TrainJobStatus::remaining_seconds(double now) const {
  if (!first_step_ || told_->step <= *first_step_) return std::nullopt;
  if (told_->step >= told_->total_steps) return 0;
  const double step_s = (now - first_time_) / static_cast<double>(told_->step - *first_step_);
  const double left = static_cast<double>(told_->total_steps - told_->step);
  return static_cast<std::int64_t>(std::clamp(step_s * left, 0.0, kMostSeconds));
}

std::string TrainJobStatus::text(double now, std::time_t wall) {
  is_new_ = false;
  const TrainingProgress progress = told_.value_or(TrainingProgress{});
  return status_json(percent_of(progress), remaining_seconds(now),
                     metrics_of(progress, pace_.tokens_per_second()), wall);
}

std::optional<std::string> TrainJobStatus::last_text(bool succeeded, std::time_t wall) const {
  if (!told_) return std::nullopt;
  const StatusJson metrics = metrics_of(*told_, pace_.tokens_per_second());
  if (succeeded) return status_json(100, 0, metrics, wall);
  return status_json(percent_of(*told_), std::nullopt, metrics, wall);
}

void PostPace::posted(double began, bool succeeded) {
  pause_ = succeeded ? kPeriod : std::min(2 * pause_, kLongestPause);
  next_ = began + pause_;
}

}  // namespace dtl
