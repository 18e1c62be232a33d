#pragma once
// Scores a model on a data set: logits from all ranks, metrics for the task, and for question
// answering also the answers.

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/squad_answers.h"
#include "trainer/job/load_inputs.h"
#include "trainer/step/evaluate.h"

namespace dtl::trainer {

struct Assessment {
  std::vector<float> logits;  // [N, C], or [T, 2]; on all ranks
  double seconds = 0;
  std::int64_t samples = 0, batches = 0;

  // Rank 0 only.
  MetricList metrics;                   // without a prefix; loss first, if there is one
  std::vector<ClassCounts> classes;     // for classes of the user's own data
  std::vector<QuestionAnswer> answers;  // of question answering
};

// Collective. labelled: compute metrics; a test set has no labels and gets predictions only.
Assessment assess(const Settings& settings, const Questioned& set, Model<float>& model,
                  const std::vector<float>& parameters, Ranks& group, bool labelled);

// Call before the first step. Checks that an evaluation of `set` gives --metric_for_best_model, if
// set. Throws Error(kUsage) with the available names.
void check_best_metric(const Settings& settings, const ModelConfig& config, const Questioned& set);

// A table of the classes for the screen: a heading and one line per class, 20 at most.
std::vector<std::string> class_lines(const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts);

// Throws Error(kBadInput) for infinities and NaN. Sums of finite weights may overflow, and metrics
// and answers from such logits would be meaningless.
void check_logits(const std::vector<float>& logits);

// A classifier's prediction for each example: a label's name, a number, or names with commas.
std::vector<std::string> prediction_lines(const ModelConfig& config,
                                          const std::vector<float>& logits);

}  // namespace dtl::trainer
