// Reads labelled texts and matches the labels of data and model by name. It uses numbers or order
// only if names do not help, and a notice says so. It does not tokenise.
#include "trainer/tasks/load_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "trainer/data/dataset.h"
#include "trainer/data/dataset_summary.h"
#include "trainer/data/tasks.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/report/evaluation_tables.h"
#include "trainer/tasks/classifier_loss.h"
#include "trainer/tasks/label_match.h"
#include "trainer/tasks/label_options.h"

namespace dtl::trainer {
namespace {

struct Texts {
  std::vector<TextDataset> train, evaluation, test;  // one or two each, or none
  std::vector<std::string> evaluation_suffixes, test_suffixes;
};

void rename_labels(TextDataset& data, const LabelNames& names) {
  const auto rename = [&](std::string& label) {
    if (const auto name = names.find(label); name != names.end()) label = name->second;
  };
  for (TextExample& example : data.examples) {
    rename(example.label);
    for (std::string& label : example.labels) rename(label);
  }
}

void rename_labels(Texts& texts, const LabelNames& names) {
  for (auto* sets : {&texts.train, &texts.evaluation, &texts.test}) {
    for (TextDataset& set : *sets) rename_labels(set, names);
  }
}

std::vector<std::string> choose_labels_to_learn(const std::vector<std::string>& model, Texts& texts,
                                                std::vector<std::string>& notices) {
  const TextDataset& train = texts.train.front();
  LearntLabels learnt = labels_to_learn(model, label_names(train), train.path);
  rename_labels(texts, learnt.renamed);
  if (!learnt.notice.empty()) notices.push_back(learnt.notice);
  return learnt.labels;
}

// Matches the task's labels to the model's by name, ignoring case, and keeps the model's order. If
// the model has as many labels with other names, uses the task's labels in the task's order.
void take_task_labels(const GlueTask& task, Texts& texts, ModelConfig& config,
                      std::vector<std::string>& notices) {
  const std::vector<std::string>& model = config.labels;
  const bool regression = task.problem == Problem::kRegression;
  // No names to match: use the task's labels, in the task's order.
  if (regression || model.size() != task.labels.size() || has_default_labels(model)) {
    config.labels = task.labels;
    return;
  }
  auto names = match_ignoring_case(model, task.labels);
  if (!names) {
    names.emplace();
    for (std::size_t i = 0; i < model.size(); ++i) (*names)[task.labels[i]] = model[i];
    notices.push_back(
        fmt::format("--task_name {}: the model's labels ({}) mean the task's ({}), in this order",
                    task.name, shown_labels(model), shown_labels(task.labels)));
  }
  rename_labels(texts, *names);
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// --train_file and similar options replace files of the GLUE folder.
Texts read_glue_texts(const Settings& s, const GlueTask& task, std::vector<std::string>& notices) {
  Texts texts;
  const auto read = [&](Split split, const std::string& given, std::int64_t limit,
                        std::vector<TextDataset>& sets, std::vector<std::string>& suffixes) {
    std::vector<GlueFile> files{{given, ""}};
    if (given.empty()) files = find_glue_files(task, s.data_dir, split);
    // mrpc may be there under Microsoft's file names (data/tasks.h).
    if (given.empty() && files != glue_files(task, s.data_dir, split)) {
      notices.push_back(fmt::format("--data_dir {}: there is no {}: reading {}", s.data_dir,
                                    file_name(glue_files(task, s.data_dir, split)[0].path),
                                    file_name(files[0].path)));
    }
    for (const GlueFile& file : files) {
      sets.push_back(read_glue(task, file, split, limit));
      suffixes.push_back(file.suffix);
    }
  };
  std::vector<std::string> none;
  if (s.do_train) read(Split::kTrain, s.train_file, s.max_train_samples, texts.train, none);
  if (s.do_eval) {
    read(Split::kValidation, s.validation_file, s.max_eval_samples, texts.evaluation,
         texts.evaluation_suffixes);
  }
  if (s.do_predict) {
    read(Split::kTest, s.test_file, s.max_predict_samples, texts.test, texts.test_suffixes);
  }
  return texts;
}

DatasetOptions dataset_options(const Settings& s, Problem problem) {
  DatasetOptions options;
  if (!s.text_column_names.empty()) options.text_columns = split(s.text_column_names, ',');
  options.text_delimiter = s.text_column_delimiter;
  if (!s.label_column_name.empty()) options.label_column = s.label_column_name;
  if (!s.label_delimiter.empty()) options.label_delimiter = s.label_delimiter.front();
  options.problem = problem;
  return options;
}

// The problem according to the options. has_float_labels() may still change it to regression.
Problem problem_of(const Settings& s) {
  if (s.do_regression) return Problem::kRegression;
  return s.label_delimiter.empty() ? Problem::kSingleLabel : Problem::kMultiLabel;
}

// Reads the columns of training (from config.json), unless the user names others. So an evaluation
// of a saved model finds its columns.
void use_columns(const TextColumns& trained, DatasetOptions& options, const Settings& s) {
  if (trained.first.empty()) return;
  if (s.label_column_name.empty() && !trained.label.empty()) options.label_column = trained.label;
  if (!s.text_column_names.empty()) return;
  options.text_columns = trained.first;
  if (s.text_column_delimiter == Settings().text_column_delimiter) {
    options.text_delimiter = trained.delimiter;
  }
  options.second_column = trained.second;
  options.trained = true;
}

Texts read_texts(const Settings& s, const ModelConfig& config, std::vector<std::string>& notices) {
  Texts texts;
  DatasetOptions options = dataset_options(s, problem_of(s));
  if (!s.do_train) use_columns(config.columns, options, s);
  // A saved model knows its problem. An option overrides it.
  if (!s.do_train && options.problem == Problem::kSingleLabel) options.problem = config.problem;
  if (s.do_train) {
    options.limit = s.shuffle_train_dataset ? -1 : s.max_train_samples;
    texts.train.push_back(read_dataset(s.train_file, options));
    if (options.problem == Problem::kSingleLabel && has_float_labels(texts.train.front())) {
      notices.push_back(float_labels_notice(s.train_file));
      options.problem = Problem::kRegression;
      // Read again, because labels must now be parsed as numbers.
      texts.train.front() = read_dataset(s.train_file, options);
    }
    if (s.shuffle_train_dataset) shuffle_examples(s, texts.train.front());
    // Evaluation and test files use the training columns; other columns are ignored.
    use_columns(texts.train.front().columns, options, s);
  }
  if (s.do_eval) {
    options.limit = s.max_eval_samples;
    texts.evaluation.push_back(read_dataset(s.validation_file, options));
    texts.evaluation_suffixes.emplace_back();
  }
  if (s.do_predict) {
    options.limit = s.max_predict_samples;
    // Files for prediction may have a column of labels; ignore it.
    options.labelled = false;
    texts.test.push_back(read_dataset(s.test_file, options));
    texts.test_suffixes.emplace_back();
  }
  return texts;
}

// pandas writes a column of whole numbers as 1.0, 0.0 if some cell is empty. Unless the model has
// such a label, read these as whole numbers.
void write_whole_numbers(TextDataset& data, const ModelConfig& config,
                         std::vector<std::string>& notices) {
  LabelNames whole;
  for (const std::string& name : label_names(data)) {
    const std::optional<float> value = finite_number(name);
    const bool own =
        std::find(config.labels.begin(), config.labels.end(), name) != config.labels.end();
    if (own || !value || *value != std::floor(*value) || std::abs(*value) > 1e6F) return;
    whole[name] = fmt::format("{}", static_cast<std::int64_t>(*value));
    // "01" and "+1" are names.
    if (name.find('.') == name.npos && whole[name] != name) return;
  }
  const bool written_so = std::any_of(whole.begin(), whole.end(),
                                      [](const auto& each) { return each.first != each.second; });
  if (!written_so) return;
  rename_labels(data, whole);
  notices.push_back(
      fmt::format("{}: its labels are written with a fraction: '{}' counts as {}, and so on",
                  data.path, whole.begin()->first, whole.begin()->second));
}

void match_labels(Texts& texts, ModelConfig& config, std::vector<std::string>& notices) {
  TextDataset& data = texts.evaluation.front();
  if (config.problem == Problem::kSingleLabel) write_whole_numbers(data, config, notices);
  LearntLabels matched = labels_to_evaluate(config.labels, label_names(data), data.path);
  rename_labels(data, matched.renamed);
  if (!matched.notice.empty()) notices.push_back(matched.notice);
  config.labels = std::move(matched.labels);
}

void choose_labels(const Settings& s, Texts& texts, ModelConfig& config,
                   std::vector<std::string>& notices) {
  if (config.problem == Problem::kRegression) {
    if (s.do_train || config.labels.size() != 1) config.labels = {"LABEL_0"};
    return;
  }
  if (s.do_train) {
    check_labels(texts.train.front());
    config.labels = choose_labels_to_learn(config.labels, texts, notices);
    if (s.do_eval && config.problem == Problem::kMultiLabel) {
      add_unseen_labels(texts.evaluation.front(), config.labels, notices);
    }
  } else {
    // The labels that transformers assumes for a folder without any.
    if (config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
    if (s.do_eval) match_labels(texts, config, notices);
  }
  if (config.labels.size() < 2) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot classify", s.model),
                fmt::format("the model has fewer than two labels: {}", shown_labels(config.labels)),
                "--do_train --train_file FILE");
  }
}

// The problem for config.json: the one that the training data has.
Problem problem_in(const Settings& s, const Texts& texts, Problem otherwise) {
  if (s.do_train) return texts.train.front().problem;
  return s.do_eval ? texts.evaluation.front().problem : otherwise;
}

// One line about each data set, in the order training, evaluation, prediction. Adds possible faults
// in them to the notices.
std::vector<std::string> summaries(const Texts& texts, std::vector<std::string>& notices) {
  std::vector<std::string> lines;
  for (const auto* sets : {&texts.train, &texts.evaluation, &texts.test}) {
    for (const TextDataset& set : *sets) {
      lines.push_back(summary(set));
      for (const std::string& doubt : doubts(set)) {
        const bool said = std::find(notices.begin(), notices.end(), doubt) != notices.end();
        if (!said) notices.push_back(doubt);  // the same file may be read twice
      }
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> report_texts(const Settings& s, const TextDataset& dataset) {
  std::vector<std::string> texts;
  if (!s.do_train || s.output_dir.empty() || s.report_examples == 0) return texts;
  for (const TextExample& example : dataset.examples) {
    texts.push_back(text_beginning(example.first));
    if (dataset.pairs) texts.back() += "\n" + text_beginning(example.second);
  }
  return texts;
}

void prepare_classification(const Settings& s, Prepared& prepared) {
  ModelConfig& config = prepared.config;
  Texts texts;
  std::vector<std::string> lines;
  if (s.task_name.empty()) {
    texts = read_texts(s, config, prepared.notices);
    lines = summaries(texts, prepared.notices);
    if (s.do_train) config.columns = texts.train.front().columns;
    config.problem = problem_in(s, texts, config.problem);
    choose_labels(s, texts, config, prepared.notices);
  } else {
    const GlueTask& task = glue_task(s.task_name);
    texts = read_glue_texts(s, task, prepared.notices);
    lines = summaries(texts, prepared.notices);
    if (s.do_train) config.columns = {};  // the task names them
    config.problem = task.problem;
    take_task_labels(task, texts, config, prepared.notices);
  }
  // Each call takes the next summary line, so calls must follow the order of summaries().
  auto encode = [&, line = lines.cbegin()](const TextDataset& dataset) mutable {
    Examples examples = encode_dataset(dataset, *prepared.tokenizer, config.labels, prepared.length,
                                       default_threads());
    prepared.data_sets.push_back(*line++);
    if (examples.cut > 0) {
      prepared.data_sets.back() +=
          fmt::format("; {} cut at {} tokens", examples.cut, prepared.length);
    }
    if (dataset.dropped > 0) {
      prepared.notices.push_back(
          fmt::format("{}: {} incomplete rows left out", dataset.path, dataset.dropped));
    }
    return examples;
  };
  const auto encode_all = [&](const std::vector<TextDataset>& datasets,
                              const std::vector<std::string>& suffixes,
                              std::vector<Questioned>& sets) {
    for (std::size_t i = 0; i < datasets.size(); ++i) {
      Questioned& set = sets.emplace_back();
      set.examples = encode(datasets[i]);
      set.suffix = suffixes[i];
      for (const TextExample& example : datasets[i].examples) set.lines.push_back(example.line);
    }
  };
  if (s.do_train) prepared.train = encode(texts.train.front());
  encode_all(texts.evaluation, texts.evaluation_suffixes, prepared.evaluation);
  // The report shows the first evaluation set.
  if (s.do_eval) prepared.evaluation.front().texts = report_texts(s, texts.evaluation.front());
  encode_all(texts.test, texts.test_suffixes, prepared.test);
  check_label_options(s, config);
  prepared.loss.label_weights = label_weights(s, config, prepared.train, prepared.notices);
}

}  // namespace dtl::trainer
