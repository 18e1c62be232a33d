// Which of several continuations of a text is right: run_swag's task.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/metrics.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/model/loss.h"
#include "trainer/tasks/candidates.h"
#include "trainer/tasks/task_kind.h"

namespace dtl::trainer {
namespace {

// SWAG's names: the text, the start of each continuation, and ending0, ending1, .. in their order.
CandidateColumns choice_columns(const Settings& s, const std::string& path,
                                const std::vector<std::string>& header, bool labelled) {
  CandidateColumns columns{.text = "sent1", .start = "sent2", .candidates = {}};
  if (!s.text_column_names.empty()) {
    const std::vector<std::string> names = split(s.text_column_names, ',');
    columns.text = names.at(0);
    columns.start = names.size() > 1 ? names[1] : "";
    if (names.size() > 2) {
      throw Error(Exit::kUsage, "--text_column_names " + s.text_column_names,
                  "there are at most two: the text, and the start of each choice",
                  fmt::format("--text_column_names {},{}", names[0], names[1]));
    }
  }
  if (!s.choice_column_names.empty()) {
    columns.candidates = split(s.choice_column_names, ',');
  } else {
    for (int i = 0; column_named(header, fmt::format("ending{}", i)) >= 0; ++i) {
      columns.candidates.push_back(fmt::format("ending{}", i));
    }
  }
  if (columns.candidates.size() < 2) {
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the choices", path),
                fmt::format("the columns are {}; at least two of them must be choices, such as "
                            "ending0 and ending1",
                            shown_columns(header)),
                "--choice_column_names NAME,NAME");
  }
  if (labelled) columns.label = s.label_column_name.empty() ? "label" : s.label_column_name;
  return columns;
}

CandidateSet read_choices(const Settings& s, const std::string& path, std::int64_t limit,
                          bool labelled) {
  return read_candidates(
      path, [&](const auto& header) { return choice_columns(s, path, header, labelled); }, limit);
}

// The label: the index of the right choice, from 0.
std::vector<std::int32_t> choice_labels(const CandidateSet& set) {
  std::vector<std::int32_t> labels;
  for (const CandidateRow& row : set.rows) {
    const auto label = parse_integer(trim(row.label), 0, set.candidates() - 1);
    if (!label) {
      refuse_row(set, row,
                 fmt::format("its label '{}' is not the number of a choice, from 0 to {}",
                             row.label, set.candidates() - 1));
    }
    labels.push_back(static_cast<std::int32_t>(*label));
  }
  return labels;
}

Examples encode(Prepared& prepared, const CandidateSet& set) {
  Examples examples =
      encode_candidates(set, *prepared.tokenizer, prepared.length, default_threads());
  if (!set.label_column.empty()) examples.labels = choice_labels(set);
  prepared.data_sets.push_back(summary(set));
  if (examples.cut > 0) {
    prepared.data_sets.back() +=
        fmt::format("; {} cut at {} tokens", plural(examples.cut, "pair"), prepared.length);
  }
  for (const std::string& doubt : doubts(set)) prepared.notices.push_back(doubt);
  return examples;
}

Questioned question(const Settings& s, Prepared& prepared, const CandidateSet& read) {
  Questioned set;
  set.examples = encode(prepared, read);
  const bool shown = s.do_train && !s.output_dir.empty() && s.report_examples > 0;
  for (const CandidateRow& row : read.rows) {
    set.lines.push_back(row.line);
    if (!shown || row.label.empty()) continue;
    const auto right = parse_integer(trim(row.label), 0, read.candidates() - 1);
    set.texts.push_back(text_beginning(row.text) + "\n" +
                        text_beginning(row.candidates[static_cast<std::size_t>(*right)]));
  }
  return set;
}

void prepare_choices(const Settings& s, Prepared& prepared) {
  prepared.config.labels.clear();  // labels of a classifier that was in the folder
  if (s.do_train) {
    prepared.train = encode(prepared, read_choices(s, s.train_file, s.max_train_samples, true));
  }
  if (s.do_eval) {
    const CandidateSet set = read_choices(s, s.validation_file, s.max_eval_samples, true);
    prepared.evaluation.push_back(question(s, prepared, set));
  }
  if (s.do_predict) {
    const CandidateSet set = read_choices(s, s.test_file, s.max_predict_samples, false);
    prepared.test.push_back(question(s, prepared, set));
  }
}

MetricList choice_figures(const Settings&, const ModelConfig&, const Questioned&) {
  return {{"accuracy", 0}, {"loss", 0}};
}

TaskScore score_choices(const ModelOutputs& of) {
  TaskScore score;
  if (!of.labelled) return score;
  const Examples& examples = of.set.examples;
  const LossSettings loss{.label_smoothing = of.prepared.loss.label_smoothing};
  const auto choices = static_cast<std::size_t>(examples.texts);
  score.metrics = {{"loss", mean_loss_of(of.prepared.config, loss, examples, of.outputs)},
                   {"accuracy", accuracy(examples.labels, best_labels(of.outputs, choices))}};
  return score;
}

// Softmax over the choices of one example.
std::vector<double> probabilities(std::span<const float> logits) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float logit : logits) {
    result.push_back(std::exp(static_cast<double>(logit) - static_cast<double>(highest)));
    sum += result.back();
  }
  for (double& each : result) each /= sum;
  return result;
}

std::span<const float> logits_of(const ModelOutputs& of, std::size_t example) {
  const auto choices = static_cast<std::size_t>(of.set.examples.texts);
  return {of.outputs.data() + example * choices, choices};
}

// The examples whose right choice is least probable.
EvaluationView view_choices(const ModelOutputs& of, const TaskScore& score) {
  EvaluationView view;
  const Examples& examples = of.set.examples;
  view.headline = evaluation_headline(score.metrics, examples.size(), {});
  std::vector<std::pair<double, std::size_t>> worst;
  for (std::size_t i = 0; i < of.set.texts.size(); ++i) {
    const auto right = static_cast<std::size_t>(examples.labels[i]);
    worst.emplace_back(probabilities(logits_of(of, i))[right], i);
  }
  const auto shown = std::min(worst.size(), static_cast<std::size_t>(of.settings.report_examples));
  std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(shown), worst.end());
  view.examples.title = "Examples whose right choice is least probable";
  for (std::size_t n = 0; n < shown; ++n) {
    const auto [probability, i] = worst[n];
    const std::int32_t best = best_label(logits_of(of, i).data(), logits_of(of, i).size());
    view.examples.examples.push_back(
        {of.set.texts[i],
         {{"right", fmt::format("{} ({:.1f}%)", examples.labels[i], 100 * probability)},
          {"chosen", fmt::format("{}", best)},
          {"line", fmt::format("{}", of.set.lines[i])}}});
  }
  return view;
}

std::vector<TaskFile> choice_files(const ModelOutputs& of, const TaskScore&) {
  if (of.labelled) return {};
  TaskFile table{"predict_results.txt", "index\tprediction\tline\n"};
  TaskFile lines{"predictions.jsonl", ""};
  for (std::size_t i = 0; i < of.set.lines.size(); ++i) {
    const std::span<const float> logits = logits_of(of, i);
    const std::int32_t best = best_label(logits.data(), logits.size());
    table.text += fmt::format("{}\t{}\t{}\n", i, best, of.set.lines[i]);
    const nlohmann::ordered_json row = {
        {"index", i},
        {"line", of.set.lines[i]},
        {"prediction", best},
        {"probabilities", probabilities(logits)},
        {"logits", std::vector<float>(logits.begin(), logits.end())}};
    lines.text += row.dump() + "\n";
  }
  return {table, lines};
}

std::string choice_outputs(const ModelConfig&) {
  return "choices";
}

}  // namespace

const TaskKind kMultipleChoice = {.name = "multiple_choice",
                                  .head = Task::kMultipleChoice,
                                  .prepare = prepare_choices,
                                  .figures = choice_figures,
                                  .score = score_choices,
                                  .view = view_choices,
                                  .files = choice_files,
                                  .outputs = choice_outputs};

}  // namespace dtl::trainer
