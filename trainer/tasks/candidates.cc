// Rows come from data/dataset_rows.h. Columns are chosen by their names alone.
#include "trainer/tasks/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/maths/on_threads.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 30;  // the file is in memory as a whole

std::vector<std::string> header_of(const std::string& path, RowReader& reader) {
  std::vector<std::string> header;
  if (!reader.next(header)) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot read the data set", path),
                "the file is empty", "ls -l " + one_shell_word(path));
  }
  check_header(path, reader.line(), header);
  return header;
}

struct Indices {
  std::size_t text = 0;
  int start = -1, label = -1;  // -1: none
  std::vector<std::size_t> candidates;
};

Indices find_columns(const std::string& path, const std::vector<std::string>& header,
                     const CandidateColumns& columns) {
  const auto find = [&](const std::string& name) {
    const int column = column_named(header, name);
    if (column >= 0) return column;
    throw Error(Exit::kBadInput, fmt::format("{}:1: cannot find a column", path),
                without_column(header, name), "head -n 3 " + one_shell_word(path));
  };
  Indices at;
  at.text = static_cast<std::size_t>(find(columns.text));
  if (!columns.start.empty()) at.start = find(columns.start);
  for (const std::string& name : columns.candidates) {
    at.candidates.push_back(static_cast<std::size_t>(find(name)));
  }
  if (!columns.label.empty()) at.label = find(columns.label);
  return at;
}

CandidateRow row_of(const std::vector<std::string>& fields, const Indices& at) {
  CandidateRow row;
  row.text = fields[at.text];
  const std::string start = at.start < 0 ? "" : fields[static_cast<std::size_t>(at.start)];
  for (const std::size_t column : at.candidates) {
    // As run_swag.py joins them, also if the start is empty.
    row.candidates.push_back(at.start < 0 ? fields[column] : start + " " + fields[column]);
  }
  if (at.label >= 0) row.label = fields[static_cast<std::size_t>(at.label)];
  return row;
}

// The names of columns in the set, for the user.
void name_columns(const std::vector<std::string>& header, const Indices& at, CandidateSet& set) {
  const auto name = [&](auto column) { return header[static_cast<std::size_t>(column)]; };
  set.text_column = name(at.text);
  if (at.start >= 0) set.start_column = name(at.start);
  for (const std::size_t column : at.candidates) set.candidate_columns.push_back(name(column));
  if (at.label >= 0) set.label_column = name(at.label);
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool read =
        i == at.text || static_cast<int>(i) == at.start || static_cast<int>(i) == at.label ||
        std::find(at.candidates.begin(), at.candidates.end(), i) != at.candidates.end();
    if (!read) set.unread.push_back(shown_column(header, i));
  }
}

}  // namespace

CandidateSet read_candidates(const std::string& path, const ColumnChooser& choose,
                             std::int64_t limit) {
  const std::unique_ptr<RowReader> reader = make_row_reader(path, read_data_file(path, kMostBytes));
  const std::vector<std::string> header = header_of(path, *reader);
  const Indices at = find_columns(path, header, choose(header));
  CandidateSet set;
  set.path = path;
  name_columns(header, at, set);
  std::vector<std::string> fields;
  while ((limit < 0 || std::ssize(set.rows) < limit) && reader->next(fields)) {
    const auto refuse = [&](const std::string& reason) {
      throw Error(Exit::kBadInput,
                  row_place(path, reader->line(), reader->element()) + ": cannot read this row",
                  reason, show_line(path, reader->line()));
    };
    if (fields.size() != header.size()) {
      refuse(fmt::format("it has {} fields, the header has {}: {}", fields.size(), header.size(),
                         fields_rule(path)));
    }
    CandidateRow row = row_of(fields, at);
    if (at.label >= 0 && trim(row.label).empty()) {
      refuse("its label is empty; a row without a label cannot be used");
    }
    row.line = reader->line();
    row.element = reader->element();
    set.rows.push_back(std::move(row));
  }
  if (set.rows.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the data set", path),
                "it has a header and no rows", "head -n 3 " + one_shell_word(path));
  }
  return set;
}

std::string summary(const CandidateSet& set) {
  std::string line =
      fmt::format("{}: {}; text: {}", set.path,
                  plural(static_cast<std::int64_t>(set.rows.size()), "example"), set.text_column);
  if (!set.start_column.empty()) {
    line += fmt::format("; start of each candidate: {}", set.start_column);
  }
  line += fmt::format("; {}: {}", plural(set.candidates(), "candidate"),
                      join(set.candidate_columns, ", "));
  if (!set.label_column.empty()) line += fmt::format("; label: {}", set.label_column);
  if (!set.unread.empty()) line += "; not read: " + join(set.unread, ", ");
  return line;
}

std::vector<std::string> doubts(const CandidateSet& set) {
  std::vector<std::string> lines;
  std::int64_t empty = 0;
  int first = 0;
  for (const CandidateRow& row : set.rows) {
    const auto blank = [](const std::string& text) { return trim(text).empty(); };
    if (!blank(row.text) && std::none_of(row.candidates.begin(), row.candidates.end(), blank)) {
      continue;
    }
    if (empty++ == 0) first = row.line;
  }
  if (empty > 0) {
    lines.push_back(
        fmt::format("{}: {} an empty text or candidate, first in line {}", set.path,
                    empty == 1 ? "1 example has" : fmt::format("{} examples have", empty), first));
  }
  return lines;
}

Examples encode_candidates(const CandidateSet& set, const Tokenizer& tokenizer, int max_length,
                           int threads) {
  tokenizer.check_pair_length(max_length);
  constexpr std::size_t kBlock = 256;  // rows per task: makes handing out tasks cheap
  const std::size_t count = set.rows.size();
  std::vector<std::vector<Encoding>> parts((count + kBlock - 1) / kBlock);
  on_threads(parts.size(), threads, [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      for (const std::string& candidate : set.rows[i].candidates) {
        parts[block].push_back(tokenizer.encode_pair(set.rows[i].text, candidate, max_length));
      }
    }
  });
  Examples examples;
  examples.texts = set.candidates();
  examples.starts.push_back(0);
  for (const std::vector<Encoding>& part : parts) {
    for (const Encoding& pair : part) {
      examples.ids.insert(examples.ids.end(), pair.ids.begin(), pair.ids.end());
      examples.types.insert(examples.types.end(), pair.types.begin(), pair.types.end());
      examples.starts.push_back(static_cast<std::int64_t>(examples.ids.size()));
      examples.cut += pair.cut ? 1 : 0;
    }
  }
  return examples;
}

void refuse_row(const CandidateSet& set, const CandidateRow& row, const std::string& reason) {
  throw Error(Exit::kBadInput,
              row_place(set.path, row.line, row.element) + ": cannot read this row", reason,
              show_line(set.path, row.line));
}

}  // namespace dtl::trainer
