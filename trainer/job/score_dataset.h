#pragma once
// What a model is worth on a data set: logits of all ranks, figures by the task, and of question
// answering the answers.

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
  MetricList metrics;                   // without a prefix; loss first, where there is one
  std::vector<ClassCounts> classes;     // of the user's own labelled classes
  std::vector<QuestionAnswer> answers;  // of question answering
};

// labelled: measures; a test set is only predicted for. Every rank calls.
Assessment assess(const Settings& settings, const Questioned& set, Model<float>& model,
                  const std::vector<float>& parameters, Ranks& group, bool labelled);

// Before the first step: an evaluation of `set` will give --metric_for_best_model, if one was asked
// for. Throws Error(kUsage) with the names of those that it gives.
void check_best_metric(const Settings& settings, const ModelConfig& config, const Questioned& set);

// A table of the classes for the screen: a head, a line for each, 20 at most.
std::vector<std::string> class_lines(const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts);

// Sums of finite weights may overflow; figures and answers made of such logits would say nothing.
// Throws Error(kBadInput).
void check_logits(const std::vector<float>& logits);

// What a classifier says of each example: a label's name, a number, or names with commas.
std::vector<std::string> prediction_lines(const ModelConfig& config,
                                          const std::vector<float>& logits);

}  // namespace dtl::trainer
