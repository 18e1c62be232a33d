// Formulas only, in double. task_metrics() selects a task's metrics as run_glue.py does. It does
// not use the model: evaluation has no backward pass, so the loss is computed here from logits.
#include "trainer/data/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/text.h"
#include "trainer/maths/plain_nan.h"

namespace dtl::trainer {
namespace {

constexpr const char* kOfClass = "_class_";
constexpr const char* kWeighted = "_weighted";

double share(double part, std::size_t whole) {
  return whole == 0 ? 0.0 : part / static_cast<double>(whole);
}

// 2 PR / (P + R), where P = hits / answered and R = hits / present.
double f1(double hits, double answered, double present) {
  return answered + present > 0 ? 2 * hits / (answered + present) : 0.0;
}

// log(sum(exp(logits))) - (1 - smoothing) logits[label] - smoothing mean(logits).
double cross_entropy(const float* logits, std::size_t classes, std::int32_t label,
                     double smoothing) {
  const auto highest = static_cast<double>(*std::max_element(logits, logits + classes));
  double sum = 0, mean = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    // Subtracting the highest logit prevents overflow and does not change the formulas below.
    const double centred = static_cast<double>(logits[c]) - highest;
    sum += std::exp(centred);
    mean += centred / static_cast<double>(classes);
  }
  const double wanted = static_cast<double>(logits[label]) - highest;
  if (smoothing == 0) return std::log(sum) - wanted;  // here the mean may be infinite
  return std::log(sum) - (1 - smoothing) * wanted - smoothing * mean;
}

// -log(sigmoid(x)) for truth 1, -log(1 - sigmoid(x)) for 0, without overflow.
double binary_cross_entropy(double logit, double truth) {
  return std::max(logit, 0.0) - logit * truth + std::log1p(std::exp(-std::abs(logit)));
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  // This form of the condition also catches NaN.
  if (!(xx > 0 && yy > 0)) return std::numeric_limits<double>::quiet_NaN();
  // Rounding may give 1.0000000000000002.
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

bool has_nan(Numbers values) {
  return std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

// Ranks from 1 for the smallest value; equal values share their mean rank. NaN is not allowed.
std::vector<double> ranks(Numbers values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    // The mean of begin + 1 .. end.
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) result[order[i]] = rank;
  }
  return result;
}

// The C of logits [N, C].
std::size_t classes_of(const Examples& examples, std::span<const float> logits) {
  return logits.size() / std::max<std::size_t>(1, examples.labels.size());
}

void add_combined(MetricList& metrics) {
  double sum = 0;
  for (const auto& [name, value] : metrics) sum += value;
  metrics.emplace_back("combined_score", sum / static_cast<double>(metrics.size()));
}

// PER_f1 and the like, beside which there is PER_number.
bool is_of_entity(const MetricList& metrics, const std::string& name) {
  if (name.ends_with("_precision") || name.ends_with("_recall") || name.ends_with("_number")) {
    return true;
  }
  if (!name.ends_with("_f1")) return name.starts_with("overall_");
  const std::string number = name.substr(0, name.size() - 2) + "number";
  return name == "overall_f1" || std::any_of(metrics.begin(), metrics.end(), [&](const auto& each) {
           return each.first == number;
         });
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

double mean_squared_error(Numbers truth, Numbers answers) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double d = static_cast<double>(truth[i]) - static_cast<double>(answers[i]);
    sum += d * d;
  }
  return plain_nan(share(sum, truth.size()));
}

double pearson(Numbers truth, Numbers answers) {
  return correlation({truth.begin(), truth.end()}, {answers.begin(), answers.end()});
}

double spearman(Numbers truth, Numbers answers) {
  if (has_nan(truth) || has_nan(answers)) return std::numeric_limits<double>::quiet_NaN();
  return correlation(ranks(truth), ranks(answers));
}

double f1_micro(Numbers truth, Numbers logits) {
  double hits = 0, answered = 0, present = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    // A logit of 0 is a probability of 0.5.
    const bool wanted = truth[i] > 0.5F, said = logits[i] > 0.0F;
    hits += wanted && said ? 1 : 0;
    answered += said ? 1 : 0;
    present += wanted ? 1 : 0;
  }
  return f1(hits, answered, present);
}

double mean_loss(Problem problem, const Examples& examples, std::span<const float> logits,
                 double label_smoothing) {
  if (problem == Problem::kRegression) return mean_squared_error(examples.targets, logits);
  double sum = 0;
  // As torch's loss: the mean over all cells of [N, labels], not the sum over labels.
  if (problem == Problem::kMultiLabel) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      sum += binary_cross_entropy(static_cast<double>(logits[i]),
                                  static_cast<double>(examples.targets[i]));
    }
    return plain_nan(share(sum, logits.size()));
  }
  const std::size_t classes = classes_of(examples, logits);
  for (std::size_t i = 0; i < examples.labels.size(); ++i) {
    sum += cross_entropy(logits.data() + i * classes, classes, examples.labels[i], label_smoothing);
  }
  return plain_nan(share(sum, examples.labels.size()));
}

double example_loss(Problem problem, const Examples& examples, std::span<const float> logits,
                    std::size_t example) {
  const std::size_t outputs = logits.size() / static_cast<std::size_t>(examples.size());
  const std::size_t at = example * outputs;
  if (problem == Problem::kSingleLabel) {
    return plain_nan(cross_entropy(&logits[at], outputs, examples.labels[example], 0));
  }
  double sum = 0;
  for (std::size_t c = at; c < at + outputs; ++c) {
    const auto logit = static_cast<double>(logits[c]);
    const auto truth = static_cast<double>(examples.targets[c]);
    sum += problem == Problem::kMultiLabel ? binary_cross_entropy(logit, truth)
                                           : (logit - truth) * (logit - truth);
  }
  return plain_nan(share(sum, outputs));
}

std::vector<ClassCounts> count_classes(Problem problem, const Examples& examples,
                                       std::span<const float> logits, std::size_t classes) {
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
        count(c, examples.targets[at + c] > 0.5F, logits[at + c] > 0.0F);
      } else {
        count(c, static_cast<std::size_t>(examples.labels[at / classes]) == c, best == c);
      }
    }
  }
  return counts;
}

MetricList class_metrics(Problem problem, const std::vector<ClassCounts>& counts,
                         const std::vector<std::string>& labels) {
  const std::array<std::string, 3> names = {"f1", "precision", "recall"};
  std::array<double, 3> sums{}, weighted{};
  double classes = 0, present = 0;
  MetricList of_classes;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const ClassCounts& count = counts[c];
    const auto portion = [](double part, double whole) { return whole > 0 ? part / whole : 0.0; };
    const std::array<double, 3> values = {f1(count.hits, count.answered, count.present),
                                          portion(count.hits, count.answered),
                                          portion(count.hits, count.present)};
    const bool counts_for_mean =
        problem == Problem::kMultiLabel || count.present + count.answered > 0;
    classes += counts_for_mean ? 1 : 0;
    present += count.present;
    for (std::size_t i = 0; i < names.size(); ++i) {
      sums[i] += values[i];
      weighted[i] += values[i] * count.present;
      // Escape line ends in labels: metric names are broadcast one per line.
      of_classes.emplace_back(names[i] + kOfClass + printable(labels[c]), values[i]);
    }
  }
  MetricList all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.emplace_back(names[i] + "_macro", classes > 0 ? sums[i] / classes : 0.0);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.emplace_back(names[i] + kWeighted, present > 0 ? weighted[i] / present : 0.0);
  }
  all.insert(all.end(), of_classes.begin(), of_classes.end());
  return all;
}

MetricList task_metrics(const std::string& task, Problem problem, const Examples& examples,
                        std::span<const float> logits, const std::vector<std::string>& labels) {
  MetricList metrics;
  const auto add_classes = [&] {
    const auto counts = count_classes(problem, examples, logits, labels.size());
    const MetricList all = class_metrics(problem, counts, labels);
    metrics.insert(metrics.end(), all.begin(), all.end());
  };
  if (problem == Problem::kMultiLabel) {
    metrics = {{"f1", f1_micro(examples.targets, logits)}};
    add_classes();
    return metrics;
  }
  if (problem == Problem::kRegression) {
    if (task != "stsb") return {{"mse", mean_squared_error(examples.targets, logits)}};
    metrics = {{"pearson", pearson(examples.targets, logits)},
               {"spearmanr", spearman(examples.targets, logits)}};
    add_combined(metrics);
    return metrics;
  }
  const auto answers = best_labels(logits, labels.size());
  if (task == "cola") {
    return {{"matthews_correlation", matthews_correlation(examples.labels, answers)}};
  }
  metrics = {{"accuracy", accuracy(examples.labels, answers)}};
  // Class 1 is "equivalent" and "duplicate" (tasks.cc).
  if (task == "mrpc" || task == "qqp") {
    metrics.emplace_back("f1", f1_of_class(examples.labels, answers, 1));
    add_combined(metrics);
  }
  if (task.empty()) add_classes();
  return metrics;
}

bool is_of_class(const std::string& name) {
  return name.find(kOfClass) != name.npos;
}

MetricList main_metrics(const MetricList& metrics) {
  MetricList main;
  for (const auto& each : metrics) {
    const std::string& name = each.first;
    const bool detail = name.starts_with("precision_") || name.starts_with("recall_") ||
                        name.ends_with(kWeighted) || is_of_class(name) ||
                        is_of_entity(metrics, name);
    if (!detail) main.push_back(each);
  }
  return main;
}

}  // namespace dtl::trainer
