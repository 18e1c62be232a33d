// All ranks compute outputs. Only rank 0 has what the task kept to score them.
#include "trainer/job/score_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/metrics.h"

namespace dtl::trainer {

Assessment assess(const Settings& s, const Prepared& prepared, const Questioned& set,
                  Model<float>& model, const std::vector<float>& parameters, Ranks& group,
                  bool labelled) {
  const auto start = std::chrono::steady_clock::now();
  Assessment result;
  result.outputs = predict(model, parameters, set.examples, s.eval_batch, group);
  // For eval_steps_per_second: one round of batches on all ranks counts as one step.
  const std::int64_t per_step = s.eval_batch * group.size();
  result.samples = set.examples.size();
  result.batches = (result.samples + per_step - 1) / per_step;
  if (group.rank() == 0) {
    result.score = task_kind(s.task).score({s, prepared, set, result.outputs, labelled});
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void check_best_metric(const Settings& s, const ModelConfig& config, const Questioned& set) {
  if (s.metric_for_best_model.empty()) return;
  const MetricList figures = task_kind(s.task).figures(s, config, set);
  std::vector<std::string> names, shown;
  for (const auto& [name, value] : figures) {
    if (name == s.metric_for_best_model) return;
    names.push_back(name);
    if (!is_of_class(name)) shown.push_back(name);
  }
  if (shown.size() < names.size()) {
    shown.push_back(fmt::format("and for each class as {}", names[shown.size() - 1]));
  }
  const auto longer = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(s.metric_for_best_model + "_");
  });
  const std::string near =
      longer != names.end() ? *longer : nearest(s.metric_for_best_model, names);
  throw Error(Exit::kUsage, fmt::format("--metric_for_best_model {}", s.metric_for_best_model),
              "not a figure of the evaluation: " + join(shown, ", "),
              near.empty() ? "--metric_for_best_model " + one_shell_word(names.front())
                           : "--metric_for_best_model " + one_shell_word(near));
}

// Metrics of infinities and NaN would look like those of a bad model.
void check_outputs(const std::vector<float>& outputs) {
  const auto wrong = std::count_if(outputs.begin(), outputs.end(),
                                   [](float value) { return !std::isfinite(value); });
  if (wrong == 0) return;
  throw Error(Exit::kBadInput, "cannot evaluate the model",
              fmt::format("{} of its {} outputs are infinite or NaN: its weights are too large; an "
                          "earlier checkpoint may be sound",
                          wrong, outputs.size()),
              "--model_name_or_path CHECKPOINT");
}

}  // namespace dtl::trainer
