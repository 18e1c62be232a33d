#pragma once
// Scores a model on a data set: outputs from all ranks, and the task's metrics of them.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/settings/settings.h"
#include "trainer/step/evaluate.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {

struct Assessment {
  std::vector<float> outputs;  // see predict(); on all ranks
  double seconds = 0;
  std::int64_t samples = 0, batches = 0;
  TaskScore score = {};  // rank 0 only
};

// Collective. labelled: compute metrics; a test set has no labels and gets predictions only.
Assessment assess(const Settings& settings, const Prepared& prepared, const Questioned& set,
                  Model<float>& model, const std::vector<float>& parameters, Ranks& group,
                  bool labelled);

// Call before the first step. Checks that an evaluation of `set` gives --metric_for_best_model, if
// set. Throws Error(kUsage) with the available names.
void check_best_metric(const Settings& settings, const ModelConfig& config, const Questioned& set);

// Throws Error(kBadInput) for infinities and NaN. Sums of finite weights may overflow, and metrics
// and answers from such outputs would be meaningless.
void check_outputs(const std::vector<float>& outputs);

}  // namespace dtl::trainer
