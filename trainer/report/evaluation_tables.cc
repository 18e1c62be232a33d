// Counts and sorts; base/page/report_table.h writes the HTML and escapes the texts.
#include "trainer/report/evaluation_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "trainer/data/squad_metrics.h"
#include "trainer/model/label_loss.h"
#include "trainer/pieces/unicode.h"
#include "trainer/report/label_errors_table.h"
#include "trainer/report/run_report.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostLabelRows = 50;  // more rows are not read
constexpr std::size_t kMostInMatrix = 10;   // columns that fit a telephone's screen
constexpr std::size_t kMostPairs = 10;      // confused pairs, instead of a matrix
constexpr std::size_t kMostNames = 10;      // labels of one example
constexpr std::size_t kTextLength = 200;    // characters of an example
constexpr std::size_t kLabelLength = 24;    // characters of a label in a cell

// The names for people of the figures that may be the main one, or stand beside it.
std::string metric_name(const std::string& key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kNames = {{
      {"accuracy", "accuracy"},
      {"balanced_accuracy", "balanced accuracy"},
      {"subset_accuracy", "all labels right"},
      {"matthews_correlation", "Matthews correlation"},
      {"roc_auc", "ROC AUC"},
      {"pearson", "Pearson correlation"},
      {"spearmanr", "Spearman correlation"},
      {"mse", "mean squared error"},
      {"f1", "F1"},
      {"f1_macro", "mean F1 of the labels"},
      {"exact_match", "exact match"},
      {"exact", "exact match"},
      {"combined_score", "combined score"},
      {"ndcg@10", "NDCG@10"},
      {"mrr@10", "MRR@10"},
      {"map", "MAP"},
      {"perplexity", "perplexity"},
  }};
  for (const auto& [name, shown] : kNames) {
    if (name == key) return std::string(shown);
  }
  return "";
}

std::string cut_to(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < characters && at < text.size(); ++i) next_code_point(text, at);
  return std::string(text.substr(0, at)) + (at < text.size() ? "…" : "");
}

ReportCell label_cell(const std::string& label) {
  const std::string shown = printable(label);
  std::string cut = cut_to(shown, kLabelLength);
  return {cut, cut == shown ? "" : shown};
}

ReportCell count_cell(double count) {
  return {fmt::format("{:.0f}", count)};
}

// How often each label occurs.
std::vector<double> label_counts(const Examples& examples, std::size_t labels) {
  std::vector<double> counts(labels);
  for (const std::int32_t label : examples.labels) counts[static_cast<std::size_t>(label)] += 1;
  for (std::size_t i = 0; i < examples.targets.size(); ++i) {
    counts[i % labels] += examples.targets[i] > 0.5F ? 1 : 0;
  }
  return counts;
}

ReportTable counts_table(const ModelConfig& config, const Examples& training,
                         const ClassifiedSet& set) {
  const std::size_t labels = config.labels.size();
  const std::vector<double> trained = label_counts(training, labels);
  const std::vector<ClassCounts> counts =
      count_classes(config.problem, set.examples, set.logits, labels, set.cut);
  ReportTable table{"Labels"};
  table.columns = {"label", "training", "evaluation", "predicted", "correct"};
  std::vector<std::size_t> order(labels);
  for (std::size_t c = 0; c < labels; ++c) order[c] = c;
  if (labels > kMostLabelRows) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return trained[a] > trained[b]; });
    order.resize(kMostLabelRows);
    table.note = fmt::format("The {} most frequent of {} labels in the training set.",
                             kMostLabelRows, labels);
  }
  for (const std::size_t c : order) {
    table.rows.push_back({label_cell(config.labels[c]), count_cell(trained[c]),
                          count_cell(counts[c].present), count_cell(counts[c].answered),
                          count_cell(counts[c].hits)});
  }
  return table;
}

using LabelPair = std::pair<std::size_t, std::size_t>;  // true, predicted

std::map<LabelPair, double> count_pairs(const ClassifiedSet& set, std::size_t labels) {
  std::map<LabelPair, double> pairs;
  for (std::size_t i = 0; i < set.examples.labels.size(); ++i) {
    const std::int32_t predicted = best_label(&set.logits[i * labels], labels);
    pairs[{static_cast<std::size_t>(set.examples.labels[i]),
           static_cast<std::size_t>(predicted)}] += 1;
  }
  return pairs;
}

ReportTable matrix_table(const ModelConfig& config, const ClassifiedSet& set) {
  const std::size_t labels = config.labels.size();
  const std::map<LabelPair, double> pairs = count_pairs(set, labels);
  const std::vector<double> present = label_counts(set.examples, labels);
  // Names of columns would be wider than their numbers, so many labels get numbers.
  const bool numbered = labels > 4;
  ReportTable table{"Confusion matrix", "Rows: the true label. Columns: the predicted label."};
  table.columns = {""};
  for (std::size_t row = 0; row < labels; ++row) {
    const ReportCell name = label_cell(config.labels[row]);
    table.columns.push_back(numbered ? fmt::format("{}", row + 1) : cut_to(name.text, 10));
    table.rows.push_back({name});
    if (numbered) table.rows.back()[0].text = fmt::format("{} {}", row + 1, name.text);
    for (std::size_t column = 0; column < labels; ++column) {
      const auto found = pairs.find({row, column});
      const double count = found == pairs.end() ? 0 : found->second;
      table.rows.back().push_back(
          {narrow_count(count),
           fmt::format("{} predicted as {}: {:.0f}", printable(config.labels[row]),
                       printable(config.labels[column]), count),
           row == column ? ReportShade::kGood : ReportShade::kBad,
           count / std::max(1.0, present[row])});
    }
  }
  return table;
}

ReportTable confused_pairs_table(const ModelConfig& config, const ClassifiedSet& set) {
  std::vector<std::pair<LabelPair, double>> wrong;
  for (const auto& each : count_pairs(set, config.labels.size())) {
    if (each.first.first != each.first.second) wrong.push_back(each);
  }
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (wrong.size() > kMostPairs) wrong.resize(kMostPairs);
  ReportTable table{"Most confused labels"};
  table.columns = {"true", "predicted", "examples"};
  for (const auto& [pair, count] : wrong) {
    table.rows.push_back({label_cell(config.labels[pair.first]),
                          label_cell(config.labels[pair.second]), count_cell(count)});
  }
  return table;
}

std::vector<ReportCell> range_row(const std::string& name, std::span<const float> values) {
  double sum = 0, square = 0;
  for (const float value : values) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(values.size());
  for (const float value : values) square += std::pow(static_cast<double>(value) - mean, 2);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {{name},
          {fmt::format("{}", values.size())},
          {fmt::format("{:.4g}", *low)},
          {fmt::format("{:.4g}", mean)},
          {fmt::format("{:.4g}", *high)},
          {fmt::format("{:.4g}", std::sqrt(square / static_cast<double>(values.size())))}};
}

ReportTable range_table(const Examples& training, const ClassifiedSet& set) {
  ReportTable table{"Values"};
  table.columns = {"", "examples", "lowest", "mean", "highest", "deviation"};
  const std::pair<const char*, std::span<const float>> rows[] = {
      {"training", training.targets},
      {"evaluation", set.examples.targets},
      {"predicted", set.logits}};
  for (const auto& [name, values] : rows) {
    if (!values.empty()) table.rows.push_back(range_row(name, values));
  }
  return table;
}

struct ScoredExample {
  std::size_t index = 0;
  double loss = 0;
};

// Highest loss first. Keeps only `count` at a time, whatever the size of the set.
std::vector<ScoredExample> highest_losses(Problem problem, const ClassifiedSet& set,
                                          std::size_t count) {
  std::vector<ScoredExample> worst;
  const auto size = static_cast<std::size_t>(set.examples.size());
  for (std::size_t i = 0; i < size; ++i) {
    const double loss = example_loss(problem, set.examples, set.logits, i);
    const auto after = [](double value, const ScoredExample& other) { return value > other.loss; };
    const auto at = std::upper_bound(worst.begin(), worst.end(), loss, after);
    if (worst.size() == count && at == worst.end()) continue;
    worst.insert(at, {i, loss});
    if (worst.size() > count) worst.pop_back();
  }
  return worst;
}

// The probability of one label among all, by softmax.
double probability_of(std::span<const float> row, std::size_t label) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit - row[label]));
  return 1 / sum;
}

// Names of the labels for which `holds` is true, or "none".
template <typename Holds>
std::string names_of(const std::vector<std::string>& labels, const Holds& holds) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < labels.size() && names.size() < kMostNames; ++c) {
    if (holds(c)) names.push_back(label_cell(labels[c]).text);
  }
  return names.empty() ? "none" : join(names, ", ");
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts prediction_facts(const ModelConfig& config, const ClassifiedSet& set, std::size_t i) {
  const std::size_t outputs = config.labels.size();
  const std::span<const float> row = set.logits.subspan(i * outputs, outputs);
  const float* targets = set.examples.targets.data() + i * outputs;
  switch (config.problem) {
    case Problem::kSingleLabel: {
      const auto truth = static_cast<std::size_t>(set.examples.labels[i]);
      const auto best = static_cast<std::size_t>(best_label(row.data(), outputs));
      const auto with_probability = [&](std::size_t label) {
        return fmt::format("{} ({:.1f}%)", label_cell(config.labels[label]).text,
                           100 * probability_of(row, label));
      };
      return {{"true", with_probability(truth)}, {"predicted", with_probability(best)}};
    }
    case Problem::kMultiLabel:
      return {
          {"true", names_of(config.labels, [&](std::size_t c) { return targets[c] > 0.5F; })},
          {"predicted", names_of(config.labels, [&](std::size_t c) { return row[c] > set.cut; })}};
    case Problem::kRegression:
      return {{"true", fmt::format("{:.4g}", targets[0])},
              {"predicted", fmt::format("{:.4g}", row[0])},
              {"error", fmt::format("{:+.4g}", row[0] - targets[0])}};
  }
  return {};
}

}  // namespace

ReportHeadline evaluation_headline(const MetricList& metrics, std::int64_t count,
                                   const HeadlineForm& form) {
  const auto main = std::find_if(metrics.begin(), metrics.end(), [&](const auto& metric) {
    return form.main.empty() ? metric.first != "loss" : metric.first == form.main;
  });
  if (main == metrics.end()) return {};
  const auto text = [&](const std::pair<std::string, double>& metric) {
    return form.of_100 ? fmt::format("{:.2f}", metric.second)
                       : figure_text(metric.first, metric.second);
  };
  const std::string name = metric_name(main->first);
  ReportHeadline headline{text(*main), name.empty() ? main->first : name, ""};
  if (form.of_100) headline.name += " (of 100)";
  headline.detail = "on the evaluation set, " + (form.unit == "query" && count != 1
                                                     ? fmt::format("{} queries", count)
                                                     : plural(count, std::string(form.unit)));
  for (const auto& metric : metrics) {
    const std::string other = metric_name(metric.first);
    if (metric.first == main->first || other.empty()) continue;
    headline.detail += fmt::format("; {} {}", other, text(metric));
  }
  return headline;
}

ReportHeadline training_headline(const MetricList& figures) {
  // Of all steps if the run was resumed, else of this run.
  for (const char* key : {"total_train_loss", "train_loss"}) {
    for (const auto& [name, value] : figures) {
      if (name != key) continue;
      return {figure_text(name, value), "training loss",
              "mean over all steps. The model was not evaluated: --do_eval with "
              "--validation_file measures it on other examples."};
    }
  }
  return {};
}

std::vector<ReportTable> label_tables(const ModelConfig& config, const Examples& training,
                                      const ClassifiedSet& evaluation) {
  if (evaluation.examples.size() == 0) return {};
  if (config.problem == Problem::kRegression) return {range_table(training, evaluation)};
  std::vector<ReportTable> tables = {counts_table(config, training, evaluation)};
  if (config.problem == Problem::kMultiLabel) {
    tables.push_back(label_errors_table(
        config, count_classes(config.problem, evaluation.examples, evaluation.logits,
                              config.labels.size(), evaluation.cut)));
    return tables;
  }
  tables.push_back(config.labels.size() <= kMostInMatrix
                       ? matrix_table(config, evaluation)
                       : confused_pairs_table(config, evaluation));
  return tables;
}

ReportExamples worst_examples(const ModelConfig& config, const ClassifiedSet& evaluation,
                              std::size_t count) {
  ReportExamples all{config.problem == Problem::kRegression ? "Largest errors" : "Worst examples",
                     "The examples of the evaluation set with the highest loss."};
  if (evaluation.texts.empty()) return all;
  for (const auto& [index, loss] : highest_losses(config.problem, evaluation, count)) {
    ReportExample example{evaluation.texts[index], prediction_facts(config, evaluation, index)};
    example.facts.emplace_back("loss", figure_text("loss", loss));
    if (index < evaluation.lines.size() && evaluation.lines[index] > 0) {
      example.facts.emplace_back("line", fmt::format("{}", evaluation.lines[index]));
    }
    all.examples.push_back(std::move(example));
  }
  return all;
}

ReportExamples wrong_answers(const std::vector<SquadExample>& questions,
                             const std::vector<QuestionAnswer>& answers, bool version_2,
                             std::size_t count) {
  const auto sureness = [&](std::size_t i) {
    return answers[i].candidates.empty() ? 0.0 : answers[i].candidates.front().probability;
  };
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (answer_f1(questions[i], answers[i].text, version_2) == 0) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](std::size_t a, std::size_t b) { return sureness(a) > sureness(b); });
  ReportExamples all{"Wrong answers",
                     fmt::format("{} of {} answers share no word with the expected ones (F1 0). "
                                 "The surest of these come first.",
                                 wrong.size(), questions.size())};
  if (wrong.size() > count) wrong.resize(count);
  const auto shown = [](const std::string& text) {
    return text.empty() ? "no answer" : text_beginning(text);
  };
  for (const std::size_t i : wrong) {
    const std::vector<SquadAnswer>& gold = questions[i].answers;
    all.examples.push_back(
        {text_beginning(questions[i].question),
         {{"expected", shown(gold.empty() ? "" : gold.front().text)},
          {"predicted", fmt::format("{} ({:.1f}%)", shown(answers[i].text), 100 * sureness(i))},
          {"id", cut_to(printable(questions[i].id), kTextLength)}}});
  }
  return all;
}

std::string text_beginning(std::string_view text) {
  std::string line = cut_to(text, kTextLength);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return line;
}

}  // namespace dtl::trainer
