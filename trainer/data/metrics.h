#pragma once
// Metrics from logits [N, C] and labels or targets, with the formulas of scikit-learn and scipy
// that Hugging Face's `evaluate` uses. Pure functions. Undefined metrics are NaN, without a sign.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/files/model_config.h"

namespace dtl::trainer {

// In display order: {"accuracy", 0.84}, {"f1", 0.89}, ..
using MetricList = std::vector<std::pair<std::string, double>>;

// The index of the largest of `classes` logits; the first of equal ones.
std::int32_t best_label(const float* logits, std::size_t classes);
// best_label for each row of logits [N, classes].
std::vector<std::int32_t> best_labels(std::span<const float> logits, std::size_t classes);

using Labels = std::span<const std::int32_t>;
double accuracy(Labels truth, Labels answers);
// 2 hits / (answered + present) of class `positive`; 0 if it occurs in neither.
double f1_of_class(Labels truth, Labels answers, std::int32_t positive);
// Matthews' correlation for any number of classes (Gorodkin 2004); 0 if a side is constant.
double matthews_correlation(Labels truth, Labels answers);

using Numbers = std::span<const float>;
double mean_squared_error(Numbers truth, Numbers answers);
double pearson(Numbers truth, Numbers answers);  // NaN if a side is constant
double spearman(Numbers truth,
                Numbers answers);  // on ranks; equal values share their mean rank
// Multi-label: truth 0 or 1, a logit above 0 means 1; over all cells at once.
double f1_micro(Numbers truth, Numbers logits);

// The mean over examples of the training loss: cross entropy with label smoothing as in loss.h,
// squared error, or binary cross entropy (mean over labels too).
double mean_loss(Problem problem, const Examples& examples, std::span<const float> logits,
                 double label_smoothing = 0);

// The same of one example, without label smoothing.
double example_loss(Problem problem, const Examples& examples, std::span<const float> logits,
                    std::size_t example);

// How often a class occurs in the examples, in the answers, and in both.
struct ClassCounts {
  double present = 0, answered = 0, hits = 0;
};
// For logits [N, C] and the truth of kSingleLabel or kMultiLabel; C counts.
std::vector<ClassCounts> count_classes(Problem problem, const Examples& examples,
                                       std::span<const float> logits, std::size_t classes);

// f1, precision (hits / answered) and recall (hits / present), each 0 if undefined: as {f1,
// precision, recall}_macro the means over classes, as .._weighted the means weighted by `present`,
// then as .._class_NAME. As in scikit-learn, the macro mean of single-label classes leaves out a
// class that occurs in neither truth nor answers.
MetricList class_metrics(Problem problem, const std::vector<ClassCounts>& counts,
                         const std::vector<std::string>& labels);

// The metrics of run_glue and run_classification, without the loss. With `task` (a name of
// tasks.h): GLUE's metrics and, if there are several, their mean as combined_score. Without: mse,
// or accuracy, or for multi-label f1 (micro); the latter two with class_metrics(). `labels` are the
// model's labels, C of logits [N, C]. Without examples, the names are the same.
MetricList task_metrics(const std::string& task, Problem problem, const Examples& examples,
                        std::span<const float> logits, const std::vector<std::string>& labels);

// The metrics that fit on a screen line: without precision, recall, weighted means and single
// classes.
MetricList main_metrics(const MetricList& metrics);
// Whether a metric is of one class (class_metrics()).
bool is_of_class(const std::string& name);

}  // namespace dtl::trainer
