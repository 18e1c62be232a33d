// Reads labelled texts and makes the labels of data and model fit each other. Labels are matched by
// name; a number or a place counts only where names cannot help, and a notice says so. Tokens are
// not looked at here.
#include "trainer/job/load_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "trainer/data/dataset.h"
#include "trainer/data/dataset_summary.h"
#include "trainer/data/tasks.h"
#include "trainer/maths/thread_pool.h"

namespace dtl::trainer {
namespace {

struct Texts {
  std::vector<TextDataset> train, evaluation, test;  // one or two each, or none
  std::vector<std::string> evaluation_suffixes, test_suffixes;
};

// LABEL_0, LABEL_1, ..: names that nobody chose.
bool is_generic(const std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != fmt::format("LABEL_{}", i)) return false;
  }
  return true;
}

using Names = std::map<std::string, std::string>;  // from the data's label to the model's

// Matches the data's labels to the model's, ignoring case. Nothing if one has no match or two.
std::optional<Names> match_ignoring_case(const std::vector<std::string>& model,
                                         const std::vector<std::string>& data) {
  // Two labels that differ only in case leave the map smaller than the model: then case matters.
  Names by_lower_case, names;
  for (const std::string& label : model) by_lower_case[to_lower(label)] = label;
  if (by_lower_case.size() != model.size()) return std::nullopt;
  for (const std::string& label : data) {
    const auto found = by_lower_case.find(to_lower(label));
    if (found == by_lower_case.end()) return std::nullopt;
    names[label] = found->second;
  }
  return names;
}

void rename_labels(TextDataset& data, const Names& names) {
  const auto rename = [&](std::string& label) {
    if (const auto name = names.find(label); name != names.end()) label = name->second;
  };
  for (TextExample& example : data.examples) {
    rename(example.label);
    for (std::string& label : example.labels) rename(label);
  }
}

void rename_labels(Texts& texts, const Names& names) {
  for (auto* sets : {&texts.train, &texts.evaluation, &texts.test}) {
    for (TextDataset& set : *sets) rename_labels(set, names);
  }
}

// The labels of a model that is trained: its own, if the data has the same ones (ignoring case).
// Otherwise the data's, and a notice if they replace names that somebody chose.
std::vector<std::string> labels_to_learn(const std::vector<std::string>& model, Texts& texts,
                                         std::vector<std::string>& notices) {
  const std::string& path = texts.train.front().path;
  const std::vector<std::string> data = label_names(texts.train.front());
  // The model's order stays: its ids may be what somebody else's program expects.
  if (std::is_permutation(model.begin(), model.end(), data.begin(), data.end())) return model;
  if (is_generic(model)) return data;
  const auto names = match_ignoring_case(model, data);
  std::set<std::string> matched;
  for (const auto& [from, to] : names.value_or(Names{})) matched.insert(to);
  // One to one or not at all: 'Yes' and 'yes' of the data once became one label 'yes' of the model.
  if (model.size() == data.size() && matched.size() == model.size()) {
    rename_labels(texts, *names);
    return model;
  }
  const std::string theirs = shown_labels(data), own = shown_labels(model);
  notices.push_back(
      model.size() == data.size()
          ? fmt::format("{}: its labels ({}) take the places of the model's ({}), in this order",
                        path, theirs, own)
          : fmt::format("{}: it has {} labels ({}), but the model has {} ({})", path, data.size(),
                        theirs, model.size(), own));
  return data;
}

// Matches the task's labels to the model's by name, ignoring case, and keeps the model's order. If
// the model has as many labels with other names, they are the task's in the task's order.
void take_task_labels(const GlueTask& task, Texts& texts, ModelConfig& config,
                      std::vector<std::string>& notices) {
  const std::vector<std::string>& model = config.labels;
  const bool regression = task.problem == Problem::kRegression;
  // No names to match: the task's labels, in the task's order.
  if (regression || model.size() != task.labels.size() || is_generic(model)) {
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

// --train_file and its like replace the files of GLUE's folder.
Texts read_glue_texts(const Settings& s, const GlueTask& task, std::vector<std::string>& notices) {
  Texts texts;
  const auto read = [&](Split split, const std::string& given, std::int64_t limit,
                        std::vector<TextDataset>& sets, std::vector<std::string>& suffixes) {
    std::vector<GlueFile> files{{given, ""}};
    if (given.empty()) files = find_glue_files(task, s.data_dir, split);
    // mrpc may lie there under the names that Microsoft published (data/tasks.h).
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

// What the options say. The data may still say otherwise: see has_float_labels().
Problem problem_of(const Settings& s) {
  if (s.do_regression) return Problem::kRegression;
  return s.label_delimiter.empty() ? Problem::kSingleLabel : Problem::kMultiLabel;
}

// The columns of training (config.json keeps them), unless the user names others. An evaluation of
// a saved model finds its columns without being told.
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
  // A saved model knows its problem; an option for another one still wins.
  if (!s.do_train && options.problem == Problem::kSingleLabel) options.problem = config.problem;
  if (s.do_train) {
    options.limit = s.max_train_samples;
    texts.train.push_back(read_dataset(s.train_file, options));
    if (options.problem == Problem::kSingleLabel && has_float_labels(texts.train.front())) {
      notices.push_back(float_labels_notice(s.train_file));
      options.problem = Problem::kRegression;
      // Read again: only now are labels parsed as numbers.
      texts.train.front() = read_dataset(s.train_file, options);
    }
    // Evaluation and test files are read by the columns of training, whatever else they have.
    use_columns(texts.train.front().columns, options, s);
  }
  if (s.do_eval) {
    options.limit = s.max_eval_samples;
    texts.evaluation.push_back(read_dataset(s.validation_file, options));
    texts.evaluation_suffixes.emplace_back();
  }
  if (s.do_predict) {
    options.limit = s.max_predict_samples;
    // Files to predict for may have a column of labels; nobody looks at it.
    options.labelled = false;
    texts.test.push_back(read_dataset(s.test_file, options));
    texts.test_suffixes.emplace_back();
  }
  return texts;
}

// The label that each name means, if all are numbers of labels; else nothing.
std::optional<std::map<std::string, std::size_t>> label_numbers(
    const std::vector<std::string>& names, std::size_t labels) {
  std::map<std::string, std::size_t> numbers;
  for (const std::string& name : names) {
    const auto number = parse_integer(name, 0, static_cast<std::int64_t>(labels) - 1);
    // "01" or "+1" is a name, not a number.
    if (!number || std::to_string(*number) != name) return std::nullopt;
    numbers[name] = static_cast<std::size_t>(*number);
  }
  return numbers;
}

// pandas writes a column of whole numbers as 1.0, 0.0 where a cell is empty somewhere. No model has
// such labels: they count as the whole numbers that they are.
void write_whole_numbers(TextDataset& data, const ModelConfig& config,
                         std::vector<std::string>& notices) {
  Names whole;
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

// A model's labels may have names that nobody chose, and data numbers in their place; the data to
// evaluate on need not have all of them.
void match_labels(Texts& texts, ModelConfig& config, std::vector<std::string>& notices) {
  TextDataset& data = texts.evaluation.front();
  if (config.problem == Problem::kSingleLabel) write_whole_numbers(data, config, notices);
  const std::vector<std::string> names = label_names(data);
  const auto numbers = label_numbers(names, config.labels.size());
  if (is_generic(config.labels)) {
    if (names.size() == config.labels.size()) config.labels = names;
    // Numbers name all of the model's labels, even those that do not occur in this file.
    for (std::size_t i = 0; numbers && i < config.labels.size(); ++i) {
      config.labels[i] = std::to_string(i);
    }
    return;
  }
  if (const auto same = match_ignoring_case(config.labels, names)) {
    return rename_labels(data, *same);
  }
  const auto is_label = [&](const std::string& name) {
    return std::find(config.labels.begin(), config.labels.end(), name) != config.labels.end();
  };
  if (!numbers || std::any_of(names.begin(), names.end(), is_label)) return;
  Names named;
  for (const std::string& name : names) named[name] = config.labels[numbers->at(name)];
  rename_labels(data, named);
  notices.push_back(fmt::format("{}: its labels are numbers: 0 means the model's {}, and so on",
                                data.path, config.labels.front()));
}

void choose_labels(const Settings& s, Texts& texts, ModelConfig& config,
                   std::vector<std::string>& notices) {
  if (config.problem == Problem::kRegression) {
    if (s.do_train || config.labels.size() != 1) config.labels = {"LABEL_0"};
    return;
  }
  if (s.do_train) {
    config.labels = labels_to_learn(config.labels, texts, notices);
  } else {
    // What transformers takes a folder for that does not say.
    if (config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
    if (s.do_eval) match_labels(texts, config, notices);
  }
  if (config.labels.size() < 2) {
    throw Error(Exit::kBadInput,
                fmt::format("{}: cannot classify", s.do_train ? s.train_file : s.model),
                fmt::format("there are fewer than two labels ({})", shown_labels(config.labels)));
  }
}

// In config.json the problem is that of the data which the model was trained on.
Problem problem_in(const Settings& s, const Texts& texts, Problem otherwise) {
  if (s.do_train) return texts.train.front().problem;
  return s.do_eval ? texts.evaluation.front().problem : otherwise;
}

// A line about each data set, in the order of training, evaluation and prediction; and what may be
// wrong in them.
std::vector<std::string> summaries(const Texts& texts, std::vector<std::string>& notices) {
  std::vector<std::string> lines;
  for (const auto* sets : {&texts.train, &texts.evaluation, &texts.test}) {
    for (const TextDataset& set : *sets) {
      lines.push_back(summary(set));
      for (const std::string& doubt : doubts(set)) {
        const bool said = std::find(notices.begin(), notices.end(), doubt) != notices.end();
        if (!said) notices.push_back(doubt);  // a file may be read for two purposes
      }
    }
  }
  return lines;
}

}  // namespace

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
  // Takes the next line of the summary with each data set: the order of calls is that of
  // summaries().
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
  encode_all(texts.test, texts.test_suffixes, prepared.test);
}

}  // namespace dtl::trainer
