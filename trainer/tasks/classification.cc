// Labels of texts or of pairs of texts, and numbers: run_glue's and run_classification's task.
// load_texts.cc reads the data.
#include "trainer/tasks/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "trainer/data/label_scores.h"
#include "trainer/data/metrics.h"
#include "trainer/model/label_loss.h"
#include "trainer/pieces/unicode.h"
#include "trainer/tasks/class_predictions.h"
#include "trainer/tasks/classifier_loss.h"
#include "trainer/tasks/load_texts.h"

namespace dtl::trainer {
namespace {

// The logit above which one of several labels is predicted.
float cut_of(const Settings& s) {
  return logit_of(s.multi_label_threshold);
}

MetricOptions metric_options(const Settings& s) {
  return {s.task_name, s.metric_name, cut_of(s)};
}

MetricList label_figures(const Settings& s, const ModelConfig& config, const Questioned&) {
  MetricList figures = task_metrics(metric_options(s), config.problem, {}, {}, config.labels);
  figures.emplace_back("loss", 0);
  return figures;
}

// Which figures have no value, and why. Files have null for them.
std::vector<std::string> undefined_lines(const MetricList& metrics) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : metrics) {
    if (!name.starts_with("roc_auc") || !std::isnan(value)) continue;
    lines.push_back(fmt::format(
        "  eval_{} is not defined: a label occurs in none or in all of the examples", name));
  }
  return lines;
}

TaskScore score_labels(const ModelOutputs& of) {
  TaskScore score;
  if (!of.labelled) return score;
  const ModelConfig& config = of.prepared.config;
  const Examples& examples = of.set.examples;
  const Settings& s = of.settings;
  const LossSettings loss = loss_settings(s, of.prepared);
  score.metrics = {{"loss", mean_loss(config.problem, examples, of.outputs, loss)}};
  const MetricList figures =
      task_metrics(metric_options(s), config.problem, examples, of.outputs, config.labels);
  score.metrics.insert(score.metrics.end(), figures.begin(), figures.end());
  if (s.task_name.empty() && config.problem != Problem::kRegression) {
    score.lines = class_lines(
        config.problem, config.labels,
        count_classes(config.problem, examples, of.outputs, config.labels.size(), cut_of(s)));
  }
  for (const std::string& line : undefined_lines(figures)) score.lines.push_back(line);
  return score;
}

EvaluationView view_labels(const ModelOutputs& of, const TaskScore& score) {
  const ModelConfig& config = of.prepared.config;
  const ClassifiedSet set{of.set.examples, of.outputs, of.set.texts, of.set.lines,
                          cut_of(of.settings)};
  return {evaluation_headline(score.metrics, of.set.examples.size(), {}),
          label_tables(config, of.prepared.train, set),
          worst_examples(config, set, static_cast<std::size_t>(of.settings.report_examples))};
}

// GLUE's server accepts only two columns. The index counts examples; it differs from the line
// number after blank lines and multi-line texts.
std::vector<TaskFile> prediction_files(const ModelOutputs& of, const TaskScore&) {
  if (of.labelled) return {};
  const std::string task = of.settings.task_name + of.set.suffix;
  const bool of_glue = !task.empty();
  const std::vector<std::string> lines =
      prediction_lines(of.prepared.config, of.outputs, cut_of(of.settings));
  TaskFile file{of_glue ? "predict_results_" + task + ".txt" : "predict_results.txt",
                of_glue ? "index\tprediction\n" : "index\tprediction\tline\n"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    file.text += fmt::format("{}\t{}", i, lines[i]);
    file.text += of_glue ? "\n" : fmt::format("\t{}\n", of.set.lines[i]);
  }
  return {file,
          {of_glue ? "predictions_" + task + ".jsonl" : "predictions.jsonl",
           prediction_objects(of.prepared.config, of.outputs, of.set.lines, cut_of(of.settings))}};
}

std::string label_count(const ModelConfig& config) {
  return plural(static_cast<std::int64_t>(config.labels.size()), "label");
}

}  // namespace

const TaskKind kClassification = {.name = "classification",
                                  .head = Task::kClassification,
                                  .prepare = prepare_classification,
                                  .figures = label_figures,
                                  .score = score_labels,
                                  .view = view_labels,
                                  .files = prediction_files,
                                  .outputs = label_count};

std::vector<std::string> class_lines(Problem problem, const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts,
                                     const ClassHeadings& headings) {
  constexpr std::size_t kMostShown = 20, kWidest = 30;  // lines; columns of a label
  const std::size_t shown = std::min(counts.size(), kMostShown);
  std::vector<std::string> names = {std::string(headings.name), "mean", "weighted mean"};
  std::size_t width = 0;
  for (std::size_t c = 0; c < shown; ++c) names.push_back(printable(labels[c]));
  for (const std::string& name : names) width = std::max(width, count_code_points(name));
  width = std::min(width, kWidest);
  std::vector<std::string> lines = {
      fmt::format("  {:<{}}  precision  recall      f1  {:>8}", names[0], width, headings.count)};
  const auto line = [&](const std::string& name, const ClassFigures& figures, double count) {
    lines.push_back(fmt::format("  {:<{}}  {:>9.4f}  {:>6.4f}  {:>6.4f}  {:>8.0f}", name, width,
                                figures.precision, figures.recall, figures.f1, count));
  };
  for (std::size_t c = 0; c < shown; ++c) {
    line(names[c + 3], figures_of(counts[c]), counts[c].present);
  }
  if (shown < counts.size()) {
    lines.push_back(fmt::format("  and {} more classes", counts.size() - shown));
  }
  double all = 0;
  for (const ClassCounts& count : counts) all += count.present;
  line(names[1], macro_figures(problem, counts), all);
  line(names[2], weighted_figures(counts), all);
  return lines;
}

}  // namespace dtl::trainer
