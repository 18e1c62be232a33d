// Turns rows (dataset_rows.h) into labelled texts, and these into tokens. It knows labels and
// columns but no model: callers pass the model's labels.
#include "trainer/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/data/dataset_summary.h"
#include "trainer/data/row_queue.h"
#include "trainer/maths/on_threads.h"

namespace dtl::trainer {
namespace {

// Limits the file's size: it is held in memory as a whole.
constexpr std::size_t kMaxDatasetBytes = std::size_t{16} << 30;

// Number of rows for guessing text columns. They stay in memory until they are used, so this bounds
// memory.
constexpr std::size_t kLookedAt = 10'000;

// How this kind of file begins.
std::string rows_rule(const std::string& path) {
  if (path.ends_with(".csv")) return "its first line must be names, such as sentence,label";
  if (path.ends_with(".tsv")) {
    return "its first line must be names, such as sentence and label with a tab between them";
  }
  return R"(its rows must be objects, such as {"sentence": "...", "label": "..."})";
}

using LabelIds = std::unordered_map<std::string, std::int32_t>;

// The columns' roles. Several text columns are joined. second < 0: no pairs; label < 0: no labels.
struct Columns {
  int label = -1, second = -1;
  std::vector<int> texts = {};
  bool guessed = false;  // text columns were guessed from the cells
};

[[noreturn]] void refuse_field(const std::string& place, const std::string& reason,
                               const std::string& hint) {
  throw Error(Exit::kBadInput, place + ": cannot read this row", reason, hint);
}

int text_column(const std::string& path, const std::vector<std::string>& header,
                const std::string& name, const DatasetOptions& options, RowQueue& rows) {
  const int column = column_named(header, name);
  if (column >= 0) return column;
  const int label = column_named(header, options.label_column);
  std::string near = nearest(name, header);
  if (near.empty()) {
    const int guess = choose_texts(header, label, rows.look_at(kLookedAt)).first;
    near = guess >= 0 ? header[static_cast<std::size_t>(guess)] : "";
  }
  throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the texts", path),
              options.trained
                  ? fmt::format("the model was trained on the column '{}', which is not one of {}",
                                name, shown_columns(header))
                  : without_column(header, name),
              near.empty() ? "head -n 3 " + one_shell_word(path)
                           : "--text_column_names " + one_shell_word(near));
}

// Names for a file whose first line is a row: of its text, its label and other columns.
std::vector<std::string> usual_names(const std::vector<std::string>& row) {
  std::vector<std::string> names;
  const auto blanks = [](const std::string& field) {
    return std::count(field.begin(), field.end(), ' ');
  };
  const auto text = std::max_element(
      row.begin(), row.end(), [&](const auto& a, const auto& b) { return blanks(a) < blanks(b); });
  for (std::size_t i = 0; i < row.size(); ++i) names.push_back(fmt::format("column{}", i + 1));
  const auto at = static_cast<std::size_t>(text - row.begin());
  names[at + 1 == row.size() ? 0 : row.size() - 1] = "label";
  names[at] = "sentence";
  return names;
}

[[noreturn]] void fail_without_labels(const std::string& path,
                                      const std::vector<std::string>& header,
                                      const DatasetOptions& options, RowQueue& rows) {
  const std::string what = fmt::format("{}:1: cannot find the labels", path);
  const std::span<const std::vector<std::string>> seen = rows.look_at(kLookedAt);
  const bool has_names_line = path.ends_with(".csv") || path.ends_with(".tsv");
  if (has_names_line && header.size() > 1 && looks_like_row(header, seen)) {
    throw Error(Exit::kBadInput, what,
                fmt::format("the first line must be the names of the columns, but looks like a "
                            "text and its label: {}",
                            shown_columns(header)),
                add_names(path, usual_names(header)));
  }
  const int guess = guess_label(header, seen);
  throw Error(Exit::kBadInput, what, without_column(header, options.label_column),
              guess >= 0
                  ? "--label_column_name " + one_shell_word(header[static_cast<std::size_t>(guess)])
              : options.unlabelled_hint.empty() ? "head -n 3 " + one_shell_word(path)
                                                : options.unlabelled_hint);
}

Columns choose_columns(const std::string& path, const std::vector<std::string>& header,
                       const DatasetOptions& options, RowQueue& rows) {
  Columns columns;
  columns.label = column_named(header, options.label_column);
  if (columns.label < 0 && options.labelled) fail_without_labels(path, header, options, rows);
  // If a column's own name contains commas, it is not a list of names.
  const int with_commas = column_named(header, join(options.text_columns, ","));
  if (options.text_columns.size() > 1 && with_commas >= 0) {
    columns.texts.push_back(with_commas);  // one name, with commas in it
  } else {
    for (const std::string& name : options.text_columns) {
      columns.texts.push_back(text_column(path, header, name, options, rows));
    }
  }
  if (!columns.texts.empty()) {
    if (!options.second_column.empty()) {
      columns.second = text_column(path, header, options.second_column, options, rows);
    }
    return columns;
  }
  const ColumnChoice choice = choose_texts(
      header, columns.label,
      needs_rows(header) ? rows.look_at(kLookedAt) : std::span<const std::vector<std::string>>());
  if (choice.first < 0) {
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find the texts", path), choice.reason,
                "head -n 3 " + one_shell_word(path));
  }
  columns.texts = {choice.first};
  columns.second = choice.second;
  columns.guessed = needs_rows(header);
  return columns;
}

// Stores names of used and unused columns for the user.
void name_columns(const std::vector<std::string>& header, const Columns& columns,
                  const DatasetOptions& options, TextDataset& dataset) {
  const auto name = [&](int column) { return header[static_cast<std::size_t>(column)]; };
  TextColumns& named = dataset.columns;
  for (const int column : columns.texts) named.first.push_back(name(column));
  named.delimiter = options.text_delimiter;
  if (columns.second >= 0) named.second = name(columns.second);
  if (options.labelled) named.label = name(columns.label);
  for (int i = 0; i < static_cast<int>(header.size()); ++i) {
    const bool text =
        std::find(columns.texts.begin(), columns.texts.end(), i) != columns.texts.end();
    if (text || i == columns.second || (options.labelled && i == columns.label)) continue;
    dataset.unread.push_back(shown_column(header, static_cast<std::size_t>(i)));
  }
}

void read_label(const std::string& path, const std::string& field, const DatasetOptions& options,
                TextExample& example) {
  const auto refuse = [&](const std::string& reason) {
    refuse_field(row_place(path, example.line, example.element), reason,
                 show_line(path, example.line));
  };
  example.label = field;
  if (options.problem == Problem::kMultiLabel) {
    // An empty cell is an example without any label, which is valid training data.
    for (const std::string& name : split(field, options.label_delimiter)) {
      if (!trim(name).empty()) example.labels.emplace_back(trim(name));
    }
    return;
  }
  if (field.empty()) refuse("its label is empty; only with --label_delimiter may it be");
  if (options.problem == Problem::kRegression) {
    const std::optional<float> value = finite_number(field);
    if (!value) {
      refuse(fmt::format("its label '{}' is not a number, but others are", field));
    }
    example.target = value.value_or(0);
  }
}

TextDataset from_rows(const std::string& path, RowReader& reader, const DatasetOptions& options) {
  RowQueue rows(reader);
  std::vector<std::string> row;
  if (!rows.next(row)) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot read the data set", path),
                "the file is empty; " + rows_rule(path), "ls -l " + one_shell_word(path));
  }
  const std::vector<std::string> header = row;
  check_header(path, rows.line(), header);
  const Columns columns = choose_columns(path, header, options, rows);
  TextDataset dataset{.pairs = columns.second >= 0,
                      .problem = options.problem,
                      .labelled = options.labelled,
                      .path = path};
  name_columns(header, columns, options, dataset);
  dataset.guessed = columns.guessed;
  dataset.header_line = rows.line();
  // Stop at the limit, so faults in later rows stay undetected.
  while (
      (options.limit < 0 || static_cast<std::int64_t>(dataset.examples.size()) < options.limit) &&
      rows.next(row)) {
    if (row.size() != header.size()) {
      refuse_field(row_place(path, rows.line(), rows.element()),
                   fmt::format("it has {} fields, the header has {}: {}", row.size(), header.size(),
                               fields_rule(path)),
                   show_line(path, rows.line()));
    }
    const auto field = [&](int column) -> const std::string& {
      return row[static_cast<std::size_t>(column)];
    };
    TextExample example;
    example.line = rows.line();
    example.element = rows.element();
    for (const int column : columns.texts) {
      if (column != columns.texts[0]) example.first += options.text_delimiter;
      example.first += field(column);
    }
    if (dataset.pairs) example.second = field(columns.second);
    if (options.labelled) read_label(path, field(columns.label), options, example);
    dataset.examples.push_back(std::move(example));
  }
  dataset.blank_lines = reader.blank_lines();
  return dataset;
}

// "3.0" is not a whole number: run_glue's readers make floats of it.
std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What to try for an unknown label: another delimiter, if it divides the label into known ones.
std::string hint_for_label(const std::string& label, const LabelIds& ids) {
  for (const char delimiter : {';', '|', ',', '/', ' '}) {
    const std::vector<std::string> names = split(label, delimiter);
    const auto known = [&](const std::string& name) {
      return ids.contains(std::string(trim(name)));
    };
    if (names.size() > 1 && std::all_of(names.begin(), names.end(), known)) {
      return "--label_delimiter " + one_shell_word(std::string(1, delimiter));
    }
  }
  return "--do_train --train_file FILE";
}

std::int32_t label_id(const TextDataset& dataset, std::size_t index, const std::string& label,
                      const LabelIds& ids, const std::vector<std::string>& labels) {
  const auto found = ids.find(label);
  if (found != ids.end()) return found->second;
  const TextExample& example = dataset.examples[index];
  const std::string reason = fmt::format("the model's labels are {}", shown_labels(labels));
  throw Error(Exit::kBadInput,
              example.line > 0
                  ? fmt::format("{}: cannot use the label '{}'",
                                row_place(dataset.path, example.line, example.element), label)
                  : fmt::format("example {}: cannot use the label '{}'", index + 1, label),
              reason, hint_for_label(label, ids));
}

// Adds an example's label, labels or target.
void append_aim(const TextDataset& dataset, std::size_t index, const LabelIds& ids,
                const std::vector<std::string>& labels, Examples& to) {
  const TextExample& example = dataset.examples[index];
  if (!dataset.labelled) return;
  if (dataset.problem == Problem::kSingleLabel) {
    to.labels.push_back(label_id(dataset, index, example.label, ids, labels));
  } else if (dataset.problem == Problem::kRegression) {
    to.targets.push_back(example.target);
  } else {
    // One row of the matrix [n, labels], with a 1 for each of the example's labels.
    const std::size_t row = to.targets.size();
    to.targets.resize(row + labels.size(), 0.0F);
    for (const std::string& label : example.labels) {
      const std::int32_t id = label_id(dataset, index, label, ids, labels);
      to.targets[row + static_cast<std::size_t>(id)] = 1;
    }
  }
}

// `part` counts its starts from its own first token.
void append(Examples& to, const Examples& part) {
  const std::int64_t base = to.starts.back();
  to.cut += part.cut;
  to.ids.insert(to.ids.end(), part.ids.begin(), part.ids.end());
  to.types.insert(to.types.end(), part.types.begin(), part.types.end());
  to.labels.insert(to.labels.end(), part.labels.begin(), part.labels.end());
  to.targets.insert(to.targets.end(), part.targets.begin(), part.targets.end());
  for (std::size_t i = 1; i < part.starts.size(); ++i) to.starts.push_back(base + part.starts[i]);
}

}  // namespace

std::optional<float> finite_number(std::string_view text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

TextDataset read_dataset(const std::string& path, const DatasetOptions& options) {
  std::unique_ptr<RowReader> rows =
      make_row_reader(path, read_data_file(path, kMaxDatasetBytes),
                      options.problem == Problem::kMultiLabel ? options.label_delimiter : '\0');
  TextDataset dataset = from_rows(path, *rows, options);
  if (dataset.examples.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the data set", path),
                options.limit == 0 ? "no rows were asked for" : "it has a header and no rows",
                "head -n 3 " + one_shell_word(path));
  }
  return dataset;
}

TextDataset read_dataset(const std::string& path, std::int64_t limit) {
  return read_dataset(path, DatasetOptions{.limit = limit});
}

bool has_float_labels(const TextDataset& dataset) {
  // Whole numbers are classes; a single fraction makes it a regression.
  bool fraction = false;
  for (const TextExample& example : dataset.examples) {
    if (!finite_number(example.label)) return false;
    fraction = fraction || !whole_number(example.label);
  }
  return fraction;
}

std::vector<std::string> label_names(const TextDataset& dataset) {
  if (dataset.problem == Problem::kRegression) return {"LABEL_0"};
  std::vector<std::string> names;
  for (const TextExample& example : dataset.examples) {
    if (dataset.problem == Problem::kMultiLabel) {
      names.insert(names.end(), example.labels.begin(), example.labels.end());
    } else {
      names.push_back(example.label);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // Sort by value, as run_glue does: as text, "10" comes before "2".
  if (std::all_of(names.begin(), names.end(),
                  [](const std::string& name) { return whole_number(name).has_value(); })) {
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *whole_number(a) < *whole_number(b);
    });
  }
  return names;
}

Examples encode_dataset(const TextDataset& dataset, const Tokenizer& tokenizer,
                        const std::vector<std::string>& labels, int max_length, int threads) {
  if (dataset.pairs) tokenizer.check_pair_length(max_length);
  LabelIds label_ids;
  for (std::size_t id = 0; id < labels.size(); ++id) {
    label_ids.emplace(labels[id], static_cast<std::int32_t>(id));
  }
  constexpr std::size_t kBlock = 256;  // examples per task: makes handing out tasks cheap
  const std::size_t count = dataset.examples.size();
  std::vector<Examples> parts((count + kBlock - 1) / kBlock);
  on_threads(parts.size(), threads, [&](std::size_t block) {
    Examples& part = parts[block];
    part.starts.push_back(0);
    for (std::size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      const TextExample& example = dataset.examples[i];
      const Encoding encoding =
          dataset.pairs ? tokenizer.encode_pair(example.first, example.second, max_length)
                        : tokenizer.encode(example.first, max_length);
      part.ids.insert(part.ids.end(), encoding.ids.begin(), encoding.ids.end());
      part.types.insert(part.types.end(), encoding.types.begin(), encoding.types.end());
      part.starts.push_back(static_cast<std::int64_t>(part.ids.size()));
      part.cut += encoding.cut ? 1 : 0;
      append_aim(dataset, i, label_ids, labels, part);
    }
  });
  Examples examples;
  examples.starts.push_back(0);
  // In block order, whichever thread encoded them.
  for (const Examples& part : parts) append(examples, part);
  return examples;
}

}  // namespace dtl::trainer
