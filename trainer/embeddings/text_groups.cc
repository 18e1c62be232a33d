// Columns first, then rows. It knows no model but its tokenizer.
#include "trainer/embeddings/text_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/maths/on_threads.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

// Limits the file's size: it is held in memory as a whole.
constexpr std::size_t kMaxGroupBytes = std::size_t{16} << 30;
// Between the texts of a list in one cell. No text has this control character.
constexpr char kListSeparator = '\x1E';

struct GroupColumns {
  std::vector<std::size_t> texts;
  int score = -1;
};

[[noreturn]] void refuse_columns(const std::string& path, const std::string& what,
                                 const std::string& reason, const std::string& hint) {
  throw Error(Exit::kBadInput, fmt::format("{}:1: {}", path, what), reason, hint);
}

std::string show_beginning(const std::string& path) {
  return "head -n 3 " + one_shell_word(path);
}

// sentence-transformers' names, in its order.
int find_score(const std::string& path, const std::vector<std::string>& header,
               const TextGroupOptions& options) {
  if (!options.score_column.empty()) {
    const int column = column_named(header, options.score_column);
    if (column >= 0) return column;
    const std::string near = nearest(options.score_column, header);
    refuse_columns(
        path, "cannot find the scores", without_column(header, options.score_column),
        near.empty() ? show_beginning(path) : "--label_column_name " + one_shell_word(near));
  }
  // The first of these names wins, wherever its column stands in the file.
  for (const char* name : {"label", "labels", "score", "scores"}) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return static_cast<int>(found - header.begin());
  }
  return -1;
}

// Columns that pandas and data sets of the hub add. Taken for texts, they would train the model on
// numbers of rows.
bool is_row_number(const std::string& name) {
  const std::string lowered = to_lower(trim(name));
  return lowered.empty() || lowered.starts_with("unnamed: ") || lowered == "idx" ||
         lowered == "index" || lowered == "id" || lowered == "_id";
}

GroupColumns choose_columns(const std::string& path, const std::vector<std::string>& header,
                            const TextGroupOptions& options) {
  GroupColumns columns;
  columns.score = find_score(path, header, options);
  if (columns.score < 0 && options.scores == Scores::kNeeded) {
    refuse_columns(path, "cannot find the scores",
                   fmt::format("the columns are {}; none is called label, labels, score or scores",
                               shown_columns(header)),
                   "--label_column_name NAME");
  }
  for (const std::string& name : options.text_columns) {
    const int column = column_named(header, name);
    if (column < 0) {
      const std::string near = nearest(name, header);
      refuse_columns(
          path, "cannot find the texts", without_column(header, name),
          near.empty() ? show_beginning(path) : "--text_column_names " + one_shell_word(near));
    }
    columns.texts.push_back(static_cast<std::size_t>(column));
  }
  if (!options.text_columns.empty()) return columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (static_cast<int>(i) != columns.score && !is_row_number(header[i])) {
      columns.texts.push_back(i);
    }
  }
  if (columns.texts.empty()) {
    refuse_columns(path, "cannot find the texts",
                   fmt::format("no column but {}", shown_columns(header)), show_beginning(path));
  }
  return columns;
}

float read_score(const std::string& path, const std::string& cell, const TextGroup& row) {
  const auto value = finite_number(trim(cell));
  if (value) return *value;
  throw Error(Exit::kBadInput, row_place(path, row.line, row.element) + ": cannot read this row",
              fmt::format("the score '{}' is not a number", printable(cell)),
              show_line(path, row.line));
}

// The texts of a row, with a name for each: a list has its column's name several times.
void read_texts(const std::vector<std::string>& header, const std::vector<std::string>& fields,
                const GroupColumns& columns, TextGroup& row, std::vector<std::string>& names) {
  names.clear();
  for (const std::size_t column : columns.texts) {
    for (std::string& text : split(fields[column], kListSeparator)) {
      row.texts.push_back(std::move(text));
      names.push_back(shown_column(header, column));
    }
  }
}

class GroupReader {
 public:
  GroupReader(const std::string& path, const TextGroupOptions& options)
      : options_(options),
        rows_(make_row_reader(path, read_data_file(path, kMaxGroupBytes), kListSeparator)) {
    groups_.path = path;
  }

  TextGroups read() {
    if (!rows_->next(header_)) fail_without_rows("it is empty");
    check_header(groups_.path, rows_->line(), header_);
    columns_ = choose_columns(groups_.path, header_, options_);
    // Found nevertheless, so that a column of scores is never read as one of texts.
    if (options_.scores == Scores::kIgnored) columns_.score = -1;
    if (columns_.score >= 0) {
      groups_.score_column = header_[static_cast<std::size_t>(columns_.score)];
    }
    name_unread();
    for (std::vector<std::string> fields; more() && rows_->next(fields);) add(fields);
    if (groups_.rows.empty()) fail_without_rows("it has a header and no rows");
    return std::move(groups_);
  }

 private:
  bool more() const {
    return options_.limit < 0 || static_cast<std::int64_t>(groups_.rows.size()) < options_.limit;
  }

  [[noreturn]] void fail_without_rows(const std::string& reason) const {
    throw Error(Exit::kBadInput, groups_.path + ": cannot use the data set", reason,
                show_beginning(groups_.path));
  }

  // Told to the user: a misspelt column would otherwise be left out in silence.
  void name_unread() {
    for (std::size_t i = 0; i < header_.size(); ++i) {
      const auto& texts = columns_.texts;
      if (std::find(texts.begin(), texts.end(), i) != texts.end()) continue;
      if (static_cast<int>(i) != columns_.score) {
        groups_.unread.push_back(shown_column(header_, i));
      }
    }
  }

  void add(const std::vector<std::string>& fields) {
    TextGroup row;
    row.line = rows_->line();
    row.element = rows_->element();
    const std::string place = row_place(groups_.path, row.line, row.element);
    if (fields.size() != header_.size()) {
      throw Error(Exit::kBadInput, place + ": cannot read this row",
                  fmt::format("it has {} fields and the header has {}: {}", fields.size(),
                              header_.size(), fields_rule(groups_.path)),
                  show_line(groups_.path, row.line));
    }
    std::vector<std::string> names;
    read_texts(header_, fields, columns_, row, names);
    if (groups_.rows.empty()) {
      groups_.columns = names;
      check_count(place);
    } else if (names != groups_.columns && !options_.ragged) {
      throw Error(Exit::kBadInput, place + ": cannot read this row",
                  fmt::format("it has {} and the first row has {}",
                              plural(static_cast<std::int64_t>(names.size()), "text"),
                              groups_.columns.size()),
                  show_line(groups_.path, row.line));
    }
    if (columns_.score >= 0) {
      row.score = read_score(groups_.path, fields[static_cast<std::size_t>(columns_.score)], row);
    }
    for (const std::string& text : row.texts) {
      if (!trim(text).empty()) continue;
      if (groups_.empty_texts++ == 0) groups_.first_empty = row.line;
    }
    groups_.rows.push_back(std::move(row));
  }

  void check_count(const std::string& place) const {
    if (groups_.columns.size() >= options_.least_texts) return;
    throw Error(Exit::kBadInput, place + ": cannot use this row",
                fmt::format("it has {}, and {} are needed; the columns are {}",
                            plural(static_cast<std::int64_t>(groups_.columns.size()), "text"),
                            options_.least_texts, shown_columns(header_)),
                show_beginning(groups_.path));
  }

  const TextGroupOptions& options_;
  std::unique_ptr<RowReader> rows_;
  std::vector<std::string> header_;
  GroupColumns columns_;
  TextGroups groups_;
};

std::string score_range(const TextGroups& groups) {
  const auto [low, high] =
      std::minmax_element(groups.rows.begin(), groups.rows.end(),
                          [](const TextGroup& a, const TextGroup& b) { return a.score < b.score; });
  return fmt::format("{:g} to {:g}", low->score, high->score);
}

// By Unicode's rule and not by the locale's, which may differ between hosts.
std::string lowered(std::string_view text) {
  std::u32string lower;
  for (const char32_t c : code_points(text)) append_lower(lower, c);
  std::string bytes;
  for (const char32_t c : lower) append_utf8(bytes, c);
  return bytes;
}

}  // namespace

TextGroups read_text_groups(const std::string& path, const TextGroupOptions& options) {
  return GroupReader(path, options).read();
}

std::string summary(const TextGroups& groups) {
  std::string line = fmt::format("{}: {} of {}: {}", groups.path,
                                 plural(static_cast<std::int64_t>(groups.rows.size()), "example"),
                                 plural(static_cast<std::int64_t>(groups.texts()), "text"),
                                 join(groups.columns, ", "));
  if (groups.scored()) {
    line += fmt::format("; score: {} ({})", groups.score_column, score_range(groups));
  }
  if (!groups.unread.empty()) line += "; not read: " + join(groups.unread, ", ");
  if (groups.empty_texts > 0) {
    line += fmt::format("; {}, first in line {}",
                        groups.empty_texts == 1 ? "1 empty text"
                                                : fmt::format("{} empty texts", groups.empty_texts),
                        groups.first_empty);
  }
  return line;
}

Examples encode_texts(const std::vector<PromptedText>& texts, const TextEncoding& how) {
  constexpr std::size_t kTextsPerTask = 256;  // makes handing out tasks cheap
  std::vector<Examples> parts((texts.size() + kTextsPerTask - 1) / kTextsPerTask);
  on_threads(parts.size(), how.threads, [&](std::size_t block) {
    Examples& part = parts[block];
    const std::size_t end = std::min(texts.size(), (block + 1) * kTextsPerTask);
    for (std::size_t i = block * kTextsPerTask; i < end; ++i) {
      const std::string text = texts[i].first + *texts[i].second;
      const Encoding encoding =
          how.tokenizer.encode(how.lower_case ? lowered(text) : text, how.max_length);
      part.ids.insert(part.ids.end(), encoding.ids.begin(), encoding.ids.end());
      part.types.insert(part.types.end(), encoding.types.begin(), encoding.types.end());
      part.starts.push_back(static_cast<std::int64_t>(part.ids.size()));
      part.cut += encoding.cut ? 1 : 0;
    }
  });
  Examples all;
  all.starts.push_back(0);
  for (const Examples& part : parts) {  // in their order, whichever thread encoded them
    const std::int64_t base = all.starts.back();
    all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
    all.types.insert(all.types.end(), part.types.begin(), part.types.end());
    for (const std::int64_t start : part.starts) all.starts.push_back(base + start);
    all.cut += part.cut;
  }
  return all;
}

Examples encode_text_groups(const TextGroups& groups, const std::vector<std::string>& prompts,
                            const TextEncoding& how) {
  std::vector<PromptedText> texts;
  for (const TextGroup& row : groups.rows) {
    for (std::size_t i = 0; i < row.texts.size(); ++i) {
      texts.emplace_back(prompts[i], &row.texts[i]);
    }
  }
  Examples examples = encode_texts(texts, how);
  examples.texts = static_cast<std::int64_t>(groups.texts());
  if (groups.scored()) {
    for (const TextGroup& row : groups.rows) examples.targets.push_back(row.score);
  }
  return examples;
}

}  // namespace dtl::trainer
