// Selects and names; the formulas are elsewhere. Figures that repeat others, such as the micro
// means of one label per example, and those of other packages' habits are computed on demand only.
#include "trainer/data/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "trainer/data/label_scores.h"
#include "trainer/data/ranking.h"

namespace dtl::trainer {
namespace {

constexpr const char* kOfClass = "_class_";
constexpr const char* kWeighted = "_weighted";

// A data set's logits and what they are compared with.
struct Scored {
  Problem problem;
  const Examples& examples;
  std::span<const float> logits;
  const std::vector<std::string>& labels;
  float cut;

  std::vector<ClassCounts> counts() const {
    return count_classes(problem, examples, logits, labels.size(), cut);
  }
  std::vector<std::int32_t> answers() const { return best_labels(logits, labels.size()); }
};

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

void append(MetricList& metrics, const MetricList& more) {
  metrics.insert(metrics.end(), more.begin(), more.end());
}

// One label against all others, by the probabilities; of two labels, the second one's.
MetricList single_label_areas(const Scored& s) {
  const std::size_t classes = s.labels.size();
  const std::vector<double> probabilities = label_probabilities(s.problem, s.logits, classes);
  std::vector<std::uint8_t> truth(probabilities.size());
  for (std::size_t i = 0; i < s.examples.labels.size() && !truth.empty(); ++i) {
    truth[i * classes + static_cast<std::size_t>(s.examples.labels[i])] = 1;
  }
  const std::vector<double> areas = of_columns(roc_auc, truth, probabilities, classes);
  if (classes == 2) return {{"roc_auc", areas[1]}};
  return {{"roc_auc_macro", macro_mean(areas)}, {"roc_auc_weighted", weighted_mean(areas, truth)}};
}

// Logits rank as their sigmoids do.
MetricList multi_label_areas(const Scored& s, bool weighted) {
  const std::vector<double> scores(s.logits.begin(), s.logits.end());
  std::vector<std::uint8_t> truth;
  for (const float target : s.examples.targets) truth.push_back(target > 0.5F ? 1 : 0);
  const std::size_t classes = s.labels.size();
  const std::vector<double> areas = of_columns(roc_auc, truth, scores, classes);
  if (weighted) return {{"roc_auc_weighted", weighted_mean(areas, truth)}};
  return {{"roc_auc_macro", macro_mean(areas)},
          {"roc_auc_micro", roc_auc(truth, scores)},
          {"average_precision_macro",
           macro_mean(of_columns(average_precision, truth, scores, classes))},
          {"average_precision_micro", average_precision(truth, scores)}};
}

MetricList single_label_metrics(const Scored& s) {
  const std::vector<ClassCounts> counts = s.counts();
  const std::vector<std::int32_t> answers = s.answers();
  MetricList metrics = {{"accuracy", accuracy(s.examples.labels, answers)},
                        {"balanced_accuracy", balanced_accuracy(counts)},
                        {"matthews_correlation", matthews_correlation(s.examples.labels, answers)}};
  append(metrics, single_label_areas(s));
  append(metrics, class_metrics(s.problem, counts, s.labels));
  return metrics;
}

MetricList multi_label_metrics(const Scored& s) {
  const std::vector<ClassCounts> counts = s.counts();
  const std::size_t classes = s.labels.size();
  MetricList metrics = {
      {"f1", micro_figures(counts).f1},
      {"subset_accuracy", subset_accuracy(s.examples.targets, s.logits, classes, s.cut)},
      {"hamming_loss", hamming_loss(s.examples.targets, s.logits, s.cut)}};
  append(metrics, multi_label_areas(s, false));
  append(metrics, class_metrics(s.problem, counts, s.labels));
  return metrics;
}

MetricList number_metrics(const Scored& s) {
  const double squares = mean_squared_error(s.examples.targets, s.logits);
  return {{"mse", squares},
          {"rmse", std::sqrt(squares)},
          {"mae", mean_absolute_error(s.examples.targets, s.logits)},
          {"r2", r_squared(s.examples.targets, s.logits)},
          {"pearson", pearson(s.examples.targets, s.logits)},
          {"spearmanr", spearman(s.examples.targets, s.logits)}};
}

// Everything that --metric_name may ask for; the first of equal names counts.
MetricList all_metrics(const Scored& s) {
  if (s.problem == Problem::kRegression) return number_metrics(s);
  const std::vector<ClassCounts> counts = s.counts();
  const ClassFigures micro = micro_figures(counts);
  MetricList all =
      s.problem == Problem::kMultiLabel ? multi_label_metrics(s) : single_label_metrics(s);
  append(all, {{"f1_micro", micro.f1},
               {"precision_micro", micro.precision},
               {"recall_micro", micro.recall}});
  if (s.problem == Problem::kMultiLabel) {
    append(all, multi_label_areas(s, true));
    append(all,
           {{"accuracy", subset_accuracy(s.examples.targets, s.logits, s.labels.size(), s.cut)},
            {"precision", micro.precision},
            {"recall", micro.recall}});
  } else if (s.labels.size() == 2) {
    // As sklearn's average="binary": of the label with the id 1.
    const ClassFigures of_second = figures_of(counts[1]);
    append(
        all,
        {{"f1", of_second.f1}, {"precision", of_second.precision}, {"recall", of_second.recall}});
  }
  return all;
}

MetricList glue_metrics(std::string_view task, const Scored& s) {
  const std::vector<float>& targets = s.examples.targets;
  if (s.problem == Problem::kRegression) {
    if (task != "stsb") return {{"mse", mean_squared_error(targets, s.logits)}};
    MetricList metrics = {{"pearson", pearson(targets, s.logits)},
                          {"spearmanr", spearman(targets, s.logits)}};
    add_combined(metrics);
    return metrics;
  }
  const std::vector<std::int32_t> answers = s.answers();
  if (task == "cola") {
    return {{"matthews_correlation", matthews_correlation(s.examples.labels, answers)}};
  }
  MetricList metrics = {{"accuracy", accuracy(s.examples.labels, answers)}};
  // Class 1 is "equivalent" and "duplicate" (tasks.cc).
  if (task == "mrpc" || task == "qqp") {
    metrics.emplace_back("f1", f1_of_class(s.examples.labels, answers, 1));
    add_combined(metrics);
  }
  return metrics;
}

MetricList usual_metrics(std::string_view task, const Scored& s) {
  if (!task.empty() || s.problem == Problem::kRegression) return glue_metrics(task, s);
  return s.problem == Problem::kMultiLabel ? multi_label_metrics(s) : single_label_metrics(s);
}

auto find_metric(MetricList& metrics, std::string_view name) {
  return std::find_if(metrics.begin(), metrics.end(),
                      [&](const auto& metric) { return metric.first == name; });
}

}  // namespace

MetricList class_metrics(Problem problem, const std::vector<ClassCounts>& counts,
                         const std::vector<std::string>& labels) {
  MetricList all;
  const auto add_all = [&](const ClassFigures& figures, const std::string& suffix) {
    all.emplace_back("f1" + suffix, figures.f1);
    all.emplace_back("precision" + suffix, figures.precision);
    all.emplace_back("recall" + suffix, figures.recall);
  };
  add_all(macro_figures(problem, counts), "_macro");
  add_all(weighted_figures(counts), kWeighted);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    // Escape line ends in labels: metric names are broadcast one per line.
    add_all(figures_of(counts[c]), kOfClass + printable(labels[c]));
  }
  return all;
}

MetricList task_metrics(const MetricOptions& options, Problem problem, const Examples& examples,
                        std::span<const float> logits, const std::vector<std::string>& labels) {
  const Scored scored{problem, examples, logits, labels, options.cut};
  MetricList metrics = usual_metrics(options.task, scored);
  if (options.chosen.empty()) return metrics;
  auto chosen = find_metric(metrics, options.chosen);
  if (chosen == metrics.end()) {
    MetricList all = all_metrics(scored);
    const auto found = find_metric(all, options.chosen);
    if (found == all.end()) return metrics;
    chosen = metrics.insert(metrics.end(), *found);
  }
  std::rotate(metrics.begin(), chosen, std::next(chosen));
  return metrics;
}

std::vector<std::string> metric_names(std::string_view task, Problem problem,
                                      const std::vector<std::string>& labels) {
  const Examples none;
  const Scored scored{problem, none, {}, labels, 0};
  std::vector<std::string> names;
  for (const MetricList& list : {usual_metrics(task, scored), all_metrics(scored)}) {
    for (const auto& [name, value] : list) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool is_of_class(const std::string& name) {
  return name.find(kOfClass) != name.npos;
}

bool is_detail(const std::string& name) {
  for (const char* beginning : {"precision_", "recall_", "roc_auc", "average_precision"}) {
    if (name.starts_with(beginning)) return true;
  }
  if (name.find("precision@") != name.npos || name.find("recall@") != name.npos) return true;
  return name == "balanced_accuracy" || name == "subset_accuracy" || name == "hamming_loss" ||
         name.ends_with(kWeighted) || is_of_class(name);
}

MetricList main_metrics(const MetricList& metrics) {
  const auto has_accuracy = std::any_of(metrics.begin(), metrics.end(), [](const auto& metric) {
    return metric.first == "accuracy";
  });
  MetricList main;
  bool first = true;
  for (const auto& metric : metrics) {
    const std::string& name = metric.first;
    const bool repeats = name == "matthews_correlation" && has_accuracy;
    if (first || name == "loss" || (!is_detail(name) && !is_of_entity(metrics, name) && !repeats))
      main.push_back(metric);
    first = first && name == "loss";
  }
  return main;
}

}  // namespace dtl::trainer
