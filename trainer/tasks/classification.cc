// Labels of texts or of pairs of texts, and numbers: run_glue's and run_classification's task.
// load_texts.cc reads the data.
#include "trainer/tasks/classification.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "trainer/data/metrics.h"
#include "trainer/maths/plain_nan.h"
#include "trainer/tasks/load_texts.h"
#include "trainer/tokens/unicode.h"

namespace dtl::trainer {
namespace {

MetricList label_figures(const Settings& s, const ModelConfig& config, const Questioned&) {
  MetricList figures = task_metrics(s.task_name, config.problem, {}, {}, config.labels);
  figures.emplace_back("loss", 0);
  return figures;
}

TaskScore score_labels(const ModelOutputs& of) {
  TaskScore score;
  if (!of.labelled) return score;
  const ModelConfig& config = of.prepared.config;
  const Examples& examples = of.set.examples;
  const Settings& s = of.settings;
  score.metrics = {{"loss", mean_loss(config.problem, examples, of.outputs, s.label_smoothing)}};
  const MetricList figures =
      task_metrics(s.task_name, config.problem, examples, of.outputs, config.labels);
  score.metrics.insert(score.metrics.end(), figures.begin(), figures.end());
  if (s.task_name.empty() && config.problem != Problem::kRegression) {
    score.lines = class_lines(
        config.labels, count_classes(config.problem, examples, of.outputs, config.labels.size()));
  }
  return score;
}

EvaluationView view_labels(const ModelOutputs& of, const TaskScore& score) {
  const ModelConfig& config = of.prepared.config;
  const ClassifiedSet set{of.set.examples, of.outputs, of.set.texts, of.set.lines};
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
  const std::vector<std::string> lines = prediction_lines(of.prepared.config, of.outputs);
  TaskFile file{of_glue ? "predict_results_" + task + ".txt" : "predict_results.txt",
                of_glue ? "index\tprediction\n" : "index\tprediction\tline\n"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    file.text += fmt::format("{}\t{}", i, lines[i]);
    file.text += of_glue ? "\n" : fmt::format("\t{}\n", of.set.lines[i]);
  }
  return {file};
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

std::vector<std::string> class_lines(const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts,
                                     const ClassHeadings& headings) {
  constexpr std::size_t kMostShown = 20, kWidest = 30;  // lines; columns of a label
  const std::size_t shown = std::min(counts.size(), kMostShown);
  std::vector<std::string> names = {std::string(headings.name)};
  std::size_t width = 0;
  for (std::size_t c = 0; c < shown; ++c) names.push_back(printable(labels[c]));
  for (const std::string& name : names) width = std::max(width, count_code_points(name));
  width = std::min(width, kWidest);
  std::vector<std::string> lines = {
      fmt::format("  {:<{}}  precision  recall      f1  {:>8}", names[0], width, headings.count)};
  const MetricList all = class_metrics(Problem::kSingleLabel, counts, labels);
  const auto figure = [&](const std::string& name, std::size_t c) {
    const std::string key = fmt::format("{}_class_{}", name, printable(labels[c]));
    return std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.first == key; })
        ->second;
  };
  for (std::size_t c = 0; c < shown; ++c) {
    lines.push_back(fmt::format("  {:<{}}  {:>9.4f}  {:>6.4f}  {:>6.4f}  {:>8.0f}", names[c + 1],
                                width, figure("precision", c), figure("recall", c), figure("f1", c),
                                counts[c].present));
  }
  if (shown < counts.size()) {
    lines.push_back(fmt::format("  and {} more classes", counts.size() - shown));
  }
  return lines;
}

std::vector<std::string> prediction_lines(const ModelConfig& config,
                                          const std::vector<float>& logits) {
  const std::size_t outputs = config.labels.size();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < logits.size(); at += outputs) {
    const float* row = logits.data() + at;
    switch (config.problem) {
      case Problem::kSingleLabel:
        lines.push_back(config.labels[static_cast<std::size_t>(best_label(row, outputs))]);
        break;
      case Problem::kRegression:
        lines.push_back(fmt::format(
            "{:.3f}", plain_nan(static_cast<double>(row[0]))));  // as run_glue writes it
        break;
      case Problem::kMultiLabel: {
        std::vector<std::string> names;
        for (std::size_t c = 0; c < outputs; ++c) {
          // A logit above 0 is a probability above 1/2.
          if (row[c] > 0) names.push_back(config.labels[c]);
        }
        lines.push_back(join(names, ","));
        break;
      }
    }
  }
  return lines;
}

}  // namespace dtl::trainer
