// Sums of whole numbers in double, so they are exact.
#include "trainer/data/class_counts.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dtl::trainer {
namespace {

double share(double part, std::size_t whole) {
  return whole == 0 ? 0.0 : part / static_cast<double>(whole);
}

// 2 PR / (P + R), where P = hits / answered and R = hits / present.
double f1(double hits, double answered, double present) {
  return answered + present > 0 ? 2 * hits / (answered + present) : 0.0;
}

// Adds weight * figures to the sum.
void add(const ClassFigures& figures, double weight, ClassFigures& sum) {
  sum.f1 += weight * figures.f1;
  sum.precision += weight * figures.precision;
  sum.recall += weight * figures.recall;
}

ClassFigures divided(const ClassFigures& sum, double by) {
  if (by == 0) return {};
  return {sum.f1 / by, sum.precision / by, sum.recall / by};
}

}  // namespace

std::int32_t best_label(const float* logits, std::size_t classes) {
  return static_cast<std::int32_t>(std::max_element(logits, logits + classes) - logits);
}

std::vector<std::int32_t> best_labels(std::span<const float> logits, std::size_t classes) {
  std::vector<std::int32_t> best;
  for (std::size_t at = 0; at < logits.size(); at += classes) {
    best.push_back(best_label(logits.data() + at, classes));
  }
  return best;
}

double accuracy(Labels truth, Labels answers) {
  double hits = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) hits += truth[i] == answers[i] ? 1 : 0;
  return share(hits, truth.size());
}

double f1_of_class(Labels truth, Labels answers, std::int32_t positive) {
  double hits = 0, answered = 0, present = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    hits += truth[i] == positive && answers[i] == positive ? 1 : 0;
    answered += answers[i] == positive ? 1 : 0;
    present += truth[i] == positive ? 1 : 0;
  }
  return f1(hits, answered, present);
}

// With s examples, c hits, and p_k answers and t_k truths of class k: (c s - sum p_k t_k) /
// sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)), as in scikit-learn.
double matthews_correlation(Labels truth, Labels answers) {
  std::map<std::int32_t, std::pair<double, double>> counts;  // of truth, of answers
  double hits = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    counts[truth[i]].first += 1;
    counts[answers[i]].second += 1;
    hits += truth[i] == answers[i] ? 1 : 0;
  }
  const auto all = static_cast<double>(truth.size());
  double both = 0, truths = 0, answereds = 0;
  for (const auto& [label, count] : counts) {
    both += count.first * count.second;
    truths += count.first * count.first;
    answereds += count.second * count.second;
  }
  const double spread = (all * all - answereds) * (all * all - truths);
  return spread > 0 ? (hits * all - both) / std::sqrt(spread) : 0.0;
}

std::vector<ClassCounts> count_classes(Problem problem, const Examples& examples,
                                       std::span<const float> logits, std::size_t classes,
                                       float cut) {
  std::vector<ClassCounts> counts(classes);
  const auto count = [&](std::size_t c, bool present, bool answered) {
    counts[c].present += present ? 1 : 0;
    counts[c].answered += answered ? 1 : 0;
    counts[c].hits += present && answered ? 1 : 0;
  };
  for (std::size_t at = 0; at < logits.size(); at += classes) {
    const auto best = static_cast<std::size_t>(best_label(&logits[at], classes));
    for (std::size_t c = 0; c < classes; ++c) {
      if (problem == Problem::kMultiLabel) {
        count(c, examples.targets[at + c] > 0.5F, logits[at + c] > cut);
      } else {
        count(c, static_cast<std::size_t>(examples.labels[at / classes]) == c, best == c);
      }
    }
  }
  return counts;
}

ClassFigures figures_of(const ClassCounts& counts) {
  const auto portion = [](double part, double whole) { return whole > 0 ? part / whole : 0.0; };
  return {f1(counts.hits, counts.answered, counts.present), portion(counts.hits, counts.answered),
          portion(counts.hits, counts.present)};
}

ClassFigures micro_figures(const std::vector<ClassCounts>& counts) {
  ClassCounts all;
  for (const ClassCounts& count : counts) {
    all.present += count.present;
    all.answered += count.answered;
    all.hits += count.hits;
  }
  return figures_of(all);
}

ClassFigures macro_figures(Problem problem, const std::vector<ClassCounts>& counts) {
  ClassFigures sum;
  double classes = 0;
  for (const ClassCounts& count : counts) {
    if (problem == Problem::kSingleLabel && count.present + count.answered == 0) continue;
    add(figures_of(count), 1, sum);
    classes += 1;
  }
  return divided(sum, classes);
}

ClassFigures weighted_figures(const std::vector<ClassCounts>& counts) {
  ClassFigures sum;
  double present = 0;
  for (const ClassCounts& count : counts) {
    add(figures_of(count), count.present, sum);
    present += count.present;
  }
  return divided(sum, present);
}

double balanced_accuracy(const std::vector<ClassCounts>& counts) {
  double sum = 0;
  std::size_t classes = 0;
  for (const ClassCounts& count : counts) {
    if (count.present == 0) continue;
    sum += count.hits / count.present;
    ++classes;
  }
  return share(sum, classes);
}

double subset_accuracy(Numbers truth, Numbers logits, std::size_t classes, float cut) {
  double right = 0;
  for (std::size_t at = 0; at < logits.size(); at += classes) {
    bool all = true;
    for (std::size_t i = at; i < at + classes; ++i) all &= (truth[i] > 0.5F) == (logits[i] > cut);
    right += all ? 1 : 0;
  }
  return share(right, logits.size() / std::max<std::size_t>(1, classes));
}

double hamming_loss(Numbers truth, Numbers logits, float cut) {
  double wrong = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    wrong += (truth[i] > 0.5F) != (logits[i] > cut) ? 1 : 0;
  }
  return share(wrong, logits.size());
}

}  // namespace dtl::trainer
