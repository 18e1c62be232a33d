#pragma once
// Counts of right and wrong labels, and the figures that follow from them alone, with the formulas
// of scikit-learn (zero_division=0). Pure functions. Logits are [N, C]; a label of several is
// predicted if its logit is above `cut`, the logit of --multi_label_threshold.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/examples.h"
#include "trainer/families/model_config.h"

namespace dtl::trainer {

using Labels = std::span<const std::int32_t>;
using Numbers = std::span<const float>;

// The index of the largest of `classes` logits; the first of equal ones.
std::int32_t best_label(const float* logits, std::size_t classes);
// best_label for each row of logits [N, classes].
std::vector<std::int32_t> best_labels(std::span<const float> logits, std::size_t classes);

double accuracy(Labels truth, Labels answers);
// 2 hits / (answered + present) of class `positive`; 0 if it occurs in neither.
double f1_of_class(Labels truth, Labels answers, std::int32_t positive);
// Matthews' correlation for any number of classes (Gorodkin 2004); 0 if a side is constant.
double matthews_correlation(Labels truth, Labels answers);

// How often a class occurs in the examples, in the answers, and in both.
struct ClassCounts {
  double present = 0, answered = 0, hits = 0;
};
// For logits [N, C] and the truth of kSingleLabel or kMultiLabel; C counts.
std::vector<ClassCounts> count_classes(Problem problem, const Examples& examples,
                                       std::span<const float> logits, std::size_t classes,
                                       float cut = 0);

// f1, precision (hits / answered) and recall (hits / present); each is 0 if undefined.
struct ClassFigures {
  double f1 = 0, precision = 0, recall = 0;
};
ClassFigures figures_of(const ClassCounts& counts);
// Of all classes together: for one label per example, all three are the accuracy.
ClassFigures micro_figures(const std::vector<ClassCounts>& counts);
// Means over classes. For one label per example without those that occur in neither truth nor
// answers, as in scikit-learn without `labels`.
ClassFigures macro_figures(Problem problem, const std::vector<ClassCounts>& counts);
// Weighted by `present`.
ClassFigures weighted_figures(const std::vector<ClassCounts>& counts);

// The mean recall of the classes that occur in the truth.
double balanced_accuracy(const std::vector<ClassCounts>& counts);

// Multi-label, truth 0 or 1: the share of examples with all labels right, and of wrong cells.
double subset_accuracy(Numbers truth, Numbers logits, std::size_t classes, float cut = 0);
double hamming_loss(Numbers truth, Numbers logits, float cut = 0);

}  // namespace dtl::trainer
