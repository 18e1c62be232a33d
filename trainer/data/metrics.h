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

// How often a class is right: of the examples, of the answers, and of both.
struct ClassCounts {
  double present = 0, answered = 0, hits = 0;
};
// Of logits [N, C] and the truth of kSingleLabel or kMultiLabel; C counts.
std::vector<ClassCounts> count_classes(Problem problem, const Examples& examples,
                                       std::span<const float> logits, std::size_t classes);

// f1, precision (hits / answered) and recall (hits / present) of each class, each 0 where it is not
// defined: as {f1, precision, recall}_macro, their means over the classes; as .._weighted, the
// means weighted by `present`; then as .._class_NAME. As scikit-learn has it, a class of a single
// label that occurs in neither truth nor answers is left out of the macro mean.
MetricList class_metrics(Problem problem, const std::vector<ClassCounts>& counts,
                         const std::vector<std::string>& labels);

// What run_glue and run_classification report, without the loss: by `task` (a name of tasks.h) what
// GLUE asks for and, when that is more than one figure, their mean as combined_score; without one
// mse, or accuracy, or for several labels f1 (micro); the latter two with class_metrics(). `labels`
// are the model's, C of logits [N, C]. Without examples, the names of the figures are the same.
MetricList task_metrics(const std::string& task, Problem problem, const Examples& examples,
                        std::span<const float> logits, const std::vector<std::string>& labels);

// Those which a line on the screen has room for: without precision, recall, what is weighted and
// what is of one class.
MetricList main_metrics(const MetricList& metrics);
// Of one class (class_metrics()).
bool is_of_class(const std::string& name);

}  // namespace dtl::trainer
