// Quirks of the GLUE archive: column names, a file without a header, rows that end early. dataset.h
// reads other data sets.
#include "trainer/data/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/data/row_queue.h"

namespace dtl::trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxGlueBytes = std::size_t{16} << 30;

// The order of labels defines their ids, which published models of the task depend on.
const std::vector<std::string> kEntailment = {"entailment", "not_entailment"};

// second and label are empty if the task or the file has none.
struct GlueNames {
  std::string first, second, label;
  std::vector<std::string> all() const {
    std::vector<std::string> names = {first, second, label};
    std::erase(names, "");
    return names;
  }
};

// Indices of the fields, and how many fields each row must have.
struct GlueColumns {
  std::size_t first = 0, second = 0, label = 0, count = 0;
  std::string counted_by = "the header";  // what defines the number of fields
  GlueNames names = {};                   // empty without a header
  std::vector<std::string> unread = {};
};

bool has_names(const std::vector<std::string>& row, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(row.begin(), row.end(), name) != row.end();
  });
}

// The column names in this header that the task uses.
GlueNames names_in(const std::vector<std::string>& header, const std::string& path,
                   const GlueTask& task, bool labelled) {
  GlueNames archive{task.first, task.second, labelled ? task.label : ""};
  GlueNames hub{task.hub_first, task.hub_second, labelled ? "label" : ""};
  for (GlueNames* names : {&archive, &hub}) {
    if (has_names(header, names->all())) return *names;
  }
  // Report missing names of the set that fits better.
  const auto missing_in = [&](const GlueNames& names) {
    std::vector<std::string> missing = names.all();
    std::erase_if(missing, [&](const std::string& name) { return has_names(header, {name}); });
    return missing;
  };
  const auto missing = missing_in(archive), otherwise = missing_in(hub);
  throw Error(Exit::kBadInput, fmt::format("{}:1: cannot read this as {}", path, task.name),
              fmt::format("{}; the task's are {}",
                          without_column(header, otherwise.size() < missing.size() ? otherwise[0]
                                                                                   : missing[0]),
                          join(hub.all(), ", ")),
              "head -n 1 " + one_shell_word(path));
}

std::size_t place_in(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

// cola's training and validation files have four columns without names: source, label, the author's
// mark, sentence. `first` is the file's first row.
bool lacks_header(const GlueTask& task, Split split, const std::vector<std::string>& first) {
  return task.name == "cola" && split != Split::kTest && first.size() == 4 &&
         !has_names(first, {"sentence"});
}

GlueColumns find_columns(const GlueTask& task, const std::string& path, Split split,
                         RowQueue& rows) {
  const auto ahead = rows.look_at(1);
  if (!ahead.empty() && lacks_header(task, split, ahead[0])) {
    return {.first = 3, .label = 1, .count = 4, .counted_by = task.name};
  }
  std::vector<std::string> header;
  if (!rows.next(header)) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot read the data set", path),
                "the file is empty", "ls -l " + one_shell_word(path));
  }
  check_header(path, rows.line(), header);
  GlueColumns columns;
  columns.count = header.size();
  columns.names = names_in(header, path, task, split != Split::kTest);
  columns.first = place_in(header, columns.names.first);
  if (!task.second.empty()) columns.second = place_in(header, columns.names.second);
  if (split != Split::kTest) columns.label = place_in(header, columns.names.label);
  for (const std::string& name : header) {
    const auto read = columns.names.all();
    if (std::find(read.begin(), read.end(), name) == read.end()) columns.unread.push_back(name);
  }
  return columns;
}

void read_glue_label(const GlueTask& task, const std::string& path, const std::string& field,
                     TextExample& example) {
  const auto fail = [&](const std::string& reason) {
    throw Error(Exit::kBadInput,
                row_place(path, example.line, example.element) + ": cannot read this row", reason);
  };
  example.label = field;
  if (task.problem == Problem::kRegression) {
    const std::optional<float> value = finite_number(field);
    if (!value) fail(fmt::format("its score '{}' is not a number", field));
    example.target = value.value_or(0);
    return;
  }
  if (std::find(task.labels.begin(), task.labels.end(), field) != task.labels.end()) return;
  const auto last = static_cast<std::int64_t>(task.labels.size()) - 1;
  // Most of the archive's files have label numbers; rte, qnli and mnli have names.
  const std::optional<std::int64_t> id = parse_integer(field, 0, last);
  if (!id) {
    fail(fmt::format("its label '{}' is not one of {}'s: {}", field, task.name,
                     join(task.labels, ", ")));
  }
  example.label = task.labels[static_cast<std::size_t>(id.value_or(0))];
}

bool may_exist(const std::string& path) {
  std::error_code ignored;  // opening the file reports the reason
  const fs::file_status status = fs::status(path, ignored);
  return status.type() != fs::file_type::not_found;
}

// Microsoft's published file to read instead of GLUE's, or empty. GLUE's dev.tsv is part of the
// published training file, so never use both.
std::string original_file(const GlueTask& task, const std::string& folder, Split split) {
  if (task.name != "mrpc") return "";
  const bool has_glues = split == Split::kTest
                             ? may_exist(folder + "/test.tsv")
                             : may_exist(folder + "/train.tsv") || may_exist(folder + "/dev.tsv");
  const std::string path =
      fmt::format("{}/msr_paraphrase_{}.txt", folder, split == Split::kTrain ? "train" : "test");
  return !has_glues && may_exist(path) ? path : "";
}

// For a hint if the user named the parent folder: the task's folder below `folder`, with the
// archive's name, such as "SST-2" for sst2. Empty if there is none.
std::string archive_folder(const GlueTask& task, const std::string& folder) {
  std::error_code ignored;
  // increment() instead of ++, which throws where a folder on a network cannot be read on.
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    std::string name = to_lower(at->path().filename().string());
    name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
    if (name == task.name && at->is_directory(ignored)) return at->path().string();
  }
  return "";
}

[[noreturn]] void fail_without(const GlueTask& task, const std::string& folder, Split split,
                               const std::string& missing) {
  std::vector<std::string> names;
  for (const Split each : {Split::kTrain, Split::kValidation, Split::kTest}) {
    for (const GlueFile& file : glue_files(task, "", each)) names.push_back(file.path.substr(1));
  }
  if (task.name == "mrpc") names.emplace_back("or msr_paraphrase_train.txt, _test.txt");
  const std::string option = split == Split::kTrain  ? "--train_file"
                             : split == Split::kTest ? "--test_file"
                                                     : "--validation_file";
  const std::string nearby = archive_folder(task, folder);
  throw Error(Exit::kBadInput, fmt::format("--data_dir {}: cannot read {}", folder, task.name),
              may_exist(folder) ? fmt::format("there is no file {}", missing)
                                : std::string("there is no such folder"),
              nearby.empty() ? fmt::format("--data_dir FOLDER with GLUE's {}; or {} FILE",
                                           join(names, ", "), option)
                             : "--data_dir " + nearby);
}

}  // namespace

std::span<const GlueTask> glue_tasks() {
  // Each row: name, labels in id order, problem; the archive's text columns and label column; the
  // text columns of the `glue` data set.
  static const std::array<GlueTask, 9> tasks = {{
      {"cola",
       {"unacceptable", "acceptable"},
       Problem::kSingleLabel,
       "sentence",
       "",
       "label",
       "sentence",
       ""},
      {"sst2",
       {"negative", "positive"},
       Problem::kSingleLabel,
       "sentence",
       "",
       "label",
       "sentence",
       ""},
      {"mrpc",
       {"not_equivalent", "equivalent"},
       Problem::kSingleLabel,
       "#1 String",
       "#2 String",
       "Quality",
       "sentence1",
       "sentence2"},
      {"qqp",
       {"not_duplicate", "duplicate"},
       Problem::kSingleLabel,
       "question1",
       "question2",
       "is_duplicate",
       "question1",
       "question2"},
      {"stsb",
       {"LABEL_0"},
       Problem::kRegression,
       "sentence1",
       "sentence2",
       "score",
       "sentence1",
       "sentence2"},
      {"mnli",
       {"entailment", "neutral", "contradiction"},
       Problem::kSingleLabel,
       "sentence1",
       "sentence2",
       "gold_label",
       "premise",
       "hypothesis"},
      {"qnli", kEntailment, Problem::kSingleLabel, "question", "sentence", "label", "question",
       "sentence"},
      {"rte", kEntailment, Problem::kSingleLabel, "sentence1", "sentence2", "label", "sentence1",
       "sentence2"},
      {"wnli",
       {"not_entailment", "entailment"},
       Problem::kSingleLabel,
       "sentence1",
       "sentence2",
       "label",
       "sentence1",
       "sentence2"},
  }};
  return tasks;
}

const GlueTask& glue_task(std::string_view name) {
  const std::string lowered = to_lower(name);
  std::vector<std::string> names;
  for (const GlueTask& task : glue_tasks()) {
    if (task.name == lowered) return task;
    names.push_back(task.name);
  }
  const std::string near = nearest(lowered, names);
  throw Error(Exit::kUsage, fmt::format("--task_name {}", name), "not one of " + join(names, ", "),
              near.empty() ? "" : "--task_name " + near);
}

std::vector<GlueFile> glue_files(const GlueTask& task, const std::string& folder, Split split) {
  if (split == Split::kTrain) return {{folder + "/train.tsv", ""}};
  const std::string name = split == Split::kTest ? "test" : "dev";
  if (task.name != "mnli") return {{fmt::format("{}/{}.tsv", folder, name), ""}};
  return {{fmt::format("{}/{}_matched.tsv", folder, name), ""},
          {fmt::format("{}/{}_mismatched.tsv", folder, name), "-mm"}};
}

std::vector<GlueFile> find_glue_files(const GlueTask& task, const std::string& folder,
                                      Split split) {
  const std::vector<GlueFile> files = glue_files(task, folder, split);
  const std::string original = original_file(task, folder, split);
  if (!original.empty()) return {{original, ""}};
  for (const GlueFile& file : files) {
    if (!may_exist(file.path)) fail_without(task, folder, split, file.path);
  }
  return files;
}

TextDataset read_glue(const GlueTask& task, const GlueFile& file, Split split, std::int64_t limit) {
  const std::string& path = file.path;
  std::string bytes = read_data_file(path, kMaxGlueBytes);
  // Microsoft's mrpc files are tab-separated but end in .txt.
  const auto reader = path.ends_with(".txt") ? make_tsv_reader(path, std::move(bytes))
                                             : make_row_reader(path, std::move(bytes));
  RowQueue rows(*reader);
  const GlueColumns columns = find_columns(task, path, split, rows);
  TextDataset dataset{.pairs = !task.second.empty(),
                      .problem = task.problem,
                      .labelled = split != Split::kTest,
                      .path = path};
  const bool named = !columns.names.first.empty();
  dataset.columns = {.first = {named ? columns.names.first : task.first},
                     .second = named ? columns.names.second : task.second};
  if (dataset.labelled) dataset.columns.label = named ? columns.names.label : task.label;
  dataset.unread = columns.unread;
  std::vector<std::string> row;
  while ((limit < 0 || static_cast<std::int64_t>(dataset.examples.size()) < limit) &&
         rows.next(row)) {
    if (row.size() < columns.count && task.name == "qqp") {
      // Some rows of the published qqp end early: count and skip them.
      ++dataset.dropped;
      continue;
    }
    if (row.size() != columns.count) {
      throw Error(Exit::kBadInput,
                  row_place(path, rows.line(), rows.element()) + ": cannot read this row",
                  fmt::format("it has {} fields, {} has {}: {}", row.size(), columns.counted_by,
                              columns.count, fields_rule(path)),
                  show_line(path, rows.line()));
    }
    TextExample example;
    example.line = rows.line();
    example.element = rows.element();
    example.first = std::move(row[columns.first]);
    if (dataset.pairs) example.second = std::move(row[columns.second]);
    if (dataset.labelled) read_glue_label(task, path, row[columns.label], example);
    dataset.examples.push_back(std::move(example));
  }
  dataset.blank_lines = reader->blank_lines();
  if (dataset.examples.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the data set", path),
                limit == 0 ? "no rows were asked for" : "it has no rows",
                "head -n 3 " + one_shell_word(path));
  }
  return dataset;
}

}  // namespace dtl::trainer
