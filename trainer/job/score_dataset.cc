// All ranks compute logits. Only rank 0 has labels, questions and files, and computes metrics.
#include "trainer/job/score_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/squad_metrics.h"
#include "trainer/maths/plain_nan.h"
#include "trainer/tokens/unicode.h"

namespace dtl::trainer {
namespace {

// No loss: evaluation windows have no answer positions.
MetricList answer_metrics(const Settings& s, const Questioned& set,
                          const std::vector<QuestionAnswer>& answers) {
  std::vector<std::string> texts;
  for (const QuestionAnswer& answer : answers) texts.push_back(answer.text);
  return s.version_2_with_negative ? squad_v2_metrics(set.questions, texts)
                                   : squad_metrics(set.questions, texts);
}

MetricList label_metrics(const Settings& s, const ModelConfig& config, const Questioned& set,
                         const std::vector<float>& logits) {
  MetricList all = {{"loss", mean_loss(config.problem, set.examples, logits, s.label_smoothing)}};
  const MetricList figures =
      task_metrics(s.task_name, config.problem, set.examples, logits, config.labels);
  all.insert(all.end(), figures.begin(), figures.end());
  return all;
}

}  // namespace

Assessment assess(const Settings& s, const Questioned& set, Model<float>& model,
                  const std::vector<float>& parameters, Ranks& group, bool labelled) {
  const auto start = std::chrono::steady_clock::now();
  const ModelConfig& config = model.config();
  const bool answers = config.task == Task::kQuestionAnswering;
  Assessment result;
  result.logits = answers ? predict_answers(model, parameters, set.examples, s.eval_batch, group)
                          : predict(model, parameters, set.examples, s.eval_batch, group);
  // For eval_steps_per_second: one round of batches on all ranks counts as one step.
  const std::int64_t per_step = s.eval_batch * group.size();
  result.samples = set.examples.size();
  result.batches = (result.samples + per_step - 1) / per_step;
  if (group.rank() == 0) {
    if (answers) {
      // load_answers.cc moved the windows out for the broadcast. Put them back for
      // choose_answers().
      SquadFeatures features = set.features;
      features.windows = set.examples;
      result.answers = choose_answers(set.questions, features, result.logits,
                                      {s.n_best_size, s.max_answer_length,
                                       s.version_2_with_negative, s.null_score_diff_threshold});
    }
    if (labelled && !answers && s.task_name.empty() && config.problem != Problem::kRegression) {
      result.classes =
          count_classes(config.problem, set.examples, result.logits, config.labels.size());
    }
    if (labelled) {
      result.metrics = answers ? answer_metrics(s, set, result.answers)
                               : label_metrics(s, config, set, result.logits);
    }
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void check_best_metric(const Settings& s, const ModelConfig& config, const Questioned& set) {
  if (s.metric_for_best_model.empty()) return;
  const bool answers = config.task == Task::kQuestionAnswering;
  // An empty evaluation gives the names of all metrics. The names for SQuAD 2 depend on the
  // questions.
  MetricList figures;
  if (answers) {
    figures = answer_metrics(s, set, std::vector<QuestionAnswer>(set.questions.size()));
  } else {
    figures = task_metrics(s.task_name, config.problem, {}, {}, config.labels);
    figures.emplace_back("loss", 0);
  }
  std::vector<std::string> names, shown;
  for (const auto& [name, value] : figures) {
    if (name == s.metric_for_best_model) return;
    names.push_back(name);
    if (!is_of_class(name)) shown.push_back(name);
  }
  if (shown.size() < names.size()) {
    shown.push_back(fmt::format("and for each class as {}", names[shown.size() - 1]));
  }
  const auto longer = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(s.metric_for_best_model + "_");
  });
  const std::string near =
      longer != names.end() ? *longer : nearest(s.metric_for_best_model, names);
  throw Error(Exit::kUsage, fmt::format("--metric_for_best_model {}", s.metric_for_best_model),
              "not a figure of the evaluation: " + join(shown, ", "),
              near.empty() ? "dttrain --help" : "--metric_for_best_model " + one_shell_word(near));
}

// Metrics of infinities and NaN would look like those of a bad model.
void check_logits(const std::vector<float>& logits) {
  const auto wrong = std::count_if(logits.begin(), logits.end(),
                                   [](float value) { return !std::isfinite(value); });
  if (wrong == 0) return;
  throw Error(Exit::kBadInput, "cannot evaluate the model",
              fmt::format("{} of its {} outputs are infinite or NaN: its weights are too large; an "
                          "earlier checkpoint may be sound",
                          wrong, logits.size()),
              "--model_name_or_path CHECKPOINT");
}

std::vector<std::string> class_lines(const std::vector<std::string>& labels,
                                     const std::vector<ClassCounts>& counts) {
  constexpr std::size_t kMostShown = 20, kWidest = 30;  // lines; columns of a label
  const std::size_t shown = std::min(counts.size(), kMostShown);
  std::vector<std::string> names = {"class"};
  std::size_t width = 0;
  for (std::size_t c = 0; c < shown; ++c) names.push_back(printable(labels[c]));
  for (const std::string& name : names) width = std::max(width, count_code_points(name));
  width = std::min(width, kWidest);
  std::vector<std::string> lines = {
      fmt::format("  {:<{}}  precision  recall      f1  examples", names[0], width)};
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
