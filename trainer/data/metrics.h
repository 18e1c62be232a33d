#pragma once
// Figures of merit from logits [N, C] and what was to be learnt, by the formulas of scikit-learn
// and scipy that Hugging Face's `evaluate` uses. Pure functions; undefined figures are NaN,
// without a sign.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/files/model_config.h"

namespace dtl::trainer {

// In the order in which they are shown: {"accuracy", 0.84}, {"f1", 0.89}, ..
using MetricList = std::vector<std::pair<std::string, double>>;

// The index of the largest of `classes` logits; of equal ones the first.
std::int32_t best_label(const float* logits, std::size_t classes);
// One of best_label for each row of logits [N, classes].
std::vector<std::int32_t> best_labels(std::span<const float> logits, std::size_t classes);

using Labels = std::span<const std::int32_t>;
double accuracy(Labels truth, Labels answers);
// 2 hits / (answered + present) of class `positive`; 0 where it occurs in neither.
double f1_of_class(Labels truth, Labels answers, std::int32_t positive);
// Matthews' correlation for any number of classes (Gorodkin 2004); 0 where a side is constant.
double matthews_correlation(Labels truth, Labels answers);

using Numbers = std::span<const float>;
double mean_squared_error(Numbers truth, Numbers answers);
double pearson(Numbers truth, Numbers answers);  // NaN where a side is constant
double spearman(Numbers truth,
                Numbers answers);  // of the ranks; equal values share their mean rank
// Several labels: truth 0 or 1, a logit above 0 is a yes; over all cells at once.
double f1_micro(Numbers truth, Numbers logits);

// The mean over examples of the loss that training minimises: cross entropy, with label smoothing
// as loss.h defines it; squared error; binary cross entropy, over labels too.
double mean_loss(Problem problem, const Examples& examples, std::span<const float> logits,
                 double label_smoothing = 0);

// What run_glue and run_classification report, without the loss: by `task` (a name of tasks.h) what
// GLUE asks for and, when that is more than one figure, their mean as combined_score; without one
// accuracy, mse, or for several labels f1 (micro).
MetricList task_metrics(const std::string& task, Problem problem, const Examples& examples,
                        std::span<const float> logits);

}  // namespace dtl::trainer
