// Only decides; training_loop.cc acts. Memory holds all state between steps, so a resumed run
// decides as the interrupted run would have.
#include "trainer/settings/run_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

// Log lines per run, if --logging_steps is not set.
constexpr std::int64_t kLinesOfARun = 20;

Strategy strategy_of(const std::string& word) {
  if (word == "steps") return Strategy::kSteps;
  if (word == "best") return Strategy::kBest;
  return word == "epoch" ? Strategy::kEpoch : Strategy::kNo;
}

double metric_named(const MetricList& metrics, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [key, value] : metrics) {
    if (key == name) return value;
    names.push_back(key);
  }
  throw Error(Exit::kUsage, fmt::format("--metric_for_best_model {}", name),
              "not a figure of the evaluation: " + join(names, ", "),
              "--metric_for_best_model loss");
}

}  // namespace

PolicySettings policy_settings(const Settings& s, std::int64_t total_steps,
                               std::int64_t steps_per_epoch) {
  PolicySettings p;
  p.total_steps = total_steps;
  p.steps_per_epoch = std::max<std::int64_t>(1, steps_per_epoch);
  p.logging = strategy_of(s.logging_strategy);
  p.evaluation = strategy_of(s.eval_strategy);
  p.saving = strategy_of(s.save_strategy);
  p.logging_steps = s.logging_steps > 0 ? resolve_steps(s.logging_steps, total_steps)
                                        : std::max<std::int64_t>(1, total_steps / kLinesOfARun);
  p.eval_steps = resolve_steps(s.eval_steps, total_steps);
  p.save_steps = resolve_steps(s.save_steps, total_steps);
  p.log_first_step = s.logging_first_step;
  p.eval_delay = s.eval_delay;
  p.metric = s.metric_for_best_model;
  p.greater_is_better = s.greater_is_better;
  p.patience = s.early_stopping_patience;
  p.threshold = s.early_stopping_threshold;
  return p;
}

Actions RunPolicy::after_step(std::int64_t step) const {
  const PolicySettings& p = settings_;
  const bool last = step >= p.total_steps;
  // A run may end in the middle of an epoch.
  const bool epoch_ends = last || step % p.steps_per_epoch == 0;
  const auto due = [&](Strategy strategy, std::int64_t every) {
    return strategy == Strategy::kSteps ? step % every == 0
                                        : strategy == Strategy::kEpoch && epoch_ends;
  };
  Actions actions;
  actions.log = due(p.logging, p.logging_steps) ||
                (p.logging != Strategy::kNo && (last || (p.log_first_step && step == 1)));
  const bool evaluates_last = last && p.evaluation == Strategy::kSteps;
  actions.evaluate = (due(p.evaluation, p.eval_steps) || evaluates_last) && !is_delayed(step);
  // Both "steps" and "epoch" save at the last step, whatever its number is.
  const bool saves_last = p.saving == Strategy::kSteps || p.saving == Strategy::kEpoch;
  actions.save = due(p.saving, p.save_steps) || (last && saves_last);
  actions.stop = last;
  return actions;
}

bool RunPolicy::is_delayed(std::int64_t step) const {
  const double unit = settings_.evaluation == Strategy::kEpoch
                          ? static_cast<double>(settings_.steps_per_epoch)
                          : 1.0;
  return static_cast<double>(step) / unit < settings_.eval_delay;
}

// A tie is not better: the earlier model stays.
bool RunPolicy::better(double value, const std::optional<Best>& than) const {
  if (!than) return true;
  return settings_.greater_is_better ? value > than->metric : value < than->metric;
}

// As transformers' EarlyStoppingCallback: an evaluation resets the patience only if it beats the
// best one by more than the threshold. Smaller gains still update the best one.
bool RunPolicy::evaluated(std::int64_t step, const MetricList& metrics) {
  if (settings_.metric.empty()) return false;
  const double value = metric_named(metrics, settings_.metric);
  last_ = Best{value, step};
  const bool is_better = std::isfinite(value) && better(value, best_);
  const bool enough =
      is_better && (!best_ || std::abs(value - best_->metric) > settings_.threshold);
  without_better_ = enough ? 0 : without_better_ + 1;
  if (is_better) best_ = last_;
  return is_better;
}

bool RunPolicy::out_of_patience() const {
  return settings_.patience > 0 && without_better_ >= settings_.patience;
}

bool RunPolicy::is_over(std::int64_t step, const Memory& memory) const {
  return step >= settings_.total_steps ||
         (settings_.patience > 0 && memory.without_better >= settings_.patience);
}

bool RunPolicy::saved(std::int64_t step) {
  // Only a model that was evaluated at this step can become the best on disk.
  if (!last_ || last_->step != step || !std::isfinite(last_->metric)) return false;
  if (!better(last_->metric, best_saved_)) return false;
  best_saved_ = last_;
  return true;
}

void RunPolicy::restore(const Memory& memory) {
  best_ = memory.best;
  best_saved_ = memory.best_saved;
  without_better_ = memory.without_better;
}

}  // namespace dtl::trainer
