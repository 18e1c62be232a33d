// Both kinds of files go through the row readers of dataset_rows.h, which check UTF-8 and count
// lines. Those skip blank lines, so a gap in the line numbers is the end of a CoNLL sentence.
#include "trainer/data/tagged_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/column_choice.h"
#include "trainer/data/data_file.h"
#include "trainer/data/dataset_rows.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostTaggedBytes = std::size_t{16} << 30;  // it is held in memory as a whole
constexpr char kListEnd = '\x1F';                                // unit separator: in no word

[[noreturn]] void refuse_sentence(const std::string& path, int line, int element,
                                  const std::string& reason) {
  throw Error(Exit::kBadInput, row_place(path, line, element) + ": cannot read this row", reason,
              show_line(path, line));
}

[[noreturn]] void refuse_empty(const std::string& path, const std::string& rule) {
  throw Error(Exit::kBadInput, path + ": cannot read the data set", "it has no sentence; " + rule,
              "head -n 3 " + one_shell_word(path));
}

std::vector<std::string> split_blanks(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r\n", at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

// A quoted piece of a list of Python or JSON; leaves `at` after its quote.
std::string quoted_piece(std::string_view text, std::size_t& at) {
  const char quote = text[at++];
  std::string piece;
  while (at < text.size() && text[at] != quote) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;  // \' and \\; others occur in no word
    piece += text[at++];
  }
  ++at;
  return piece;
}

// ['EU', "Peter's", 3] as Python, pandas and json write lists into a .csv.
std::vector<std::string> list_pieces(std::string_view text) {
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> pieces;
  for (std::size_t at = 0; (at = text.find_first_not_of(", \t\r\n", at)) != text.npos;) {
    if (text[at] == '\'' || text[at] == '"') {
      pieces.push_back(quoted_piece(text, at));
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(", \t\r\n", at), text.size());
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

// The words or tags of a cell: of a JSON list, or of a text.
std::vector<std::string> pieces_of(const std::string& cell) {
  if (cell.find(kListEnd) != cell.npos) return split(cell, kListEnd);
  const std::string_view text = trim(cell);
  if (text.size() > 1 && text.front() == '[' && text.back() == ']') return list_pieces(text);
  return split_blanks(text);
}

struct TaggedColumns {
  int words = -1, tags = -1;
};

int named_column(const std::string& path, const std::vector<std::string>& header,
                 const std::string& name, const char* option) {
  const int column = column_named(header, name);
  if (column >= 0) return column;
  const std::string near = nearest(name, header);
  throw Error(Exit::kBadInput,
              fmt::format("{}:1: cannot find the {}", path,
                          std::string_view(option) == "--label_column_name" ? "tags" : "words"),
              without_column(header, name),
              near.empty() ? "head -n 3 " + one_shell_word(path)
                           : fmt::format("{} {}", option, one_shell_word(near)));
}

// As run_ner.py: "tokens", else the first column; TASK_tags, else the second.
TaggedColumns choose_tagged_columns(const std::string& path, const std::vector<std::string>& header,
                                    const TaggedOptions& options) {
  TaggedColumns columns;
  columns.words = options.words.empty()
                      ? std::max(0, column_named(header, "tokens"))
                      : named_column(path, header, options.words, "--text_column_name");
  if (!options.labelled) return columns;
  if (!options.tags.empty()) {
    columns.tags = named_column(path, header, options.tags, "--label_column_name");
  } else {
    columns.tags = column_named(header, options.task_name + "_tags");
    if (columns.tags < 0 && header.size() > 1) columns.tags = 1;
  }
  if (columns.tags < 0 || columns.tags == columns.words) {
    throw Error(
        Exit::kBadInput, fmt::format("{}:1: cannot find the tags", path),
        fmt::format("the columns are {}; words and tags need one each", shown_columns(header)),
        "--label_column_name NAME");
  }
  return columns;
}

TaggedSentence sentence_of(const std::string& path, const RowReader& rows,
                           const std::vector<std::string>& row, const TaggedColumns& columns) {
  TaggedSentence sentence;
  sentence.line = rows.line();
  sentence.element = rows.element();
  const std::string& cell = row[static_cast<std::size_t>(columns.words)];
  sentence.words = pieces_of(cell);
  if (columns.tags < 0) return sentence;
  sentence.tags = pieces_of(row[static_cast<std::size_t>(columns.tags)]);
  // One word of a JSON list, with a blank in it.
  if (sentence.tags.size() == 1 && sentence.words.size() != 1) sentence.words = {cell};
  if (sentence.words.size() != sentence.tags.size()) {
    refuse_sentence(path, sentence.line, sentence.element,
                    fmt::format("it has {} and {}",
                                plural(static_cast<std::int64_t>(sentence.words.size()), "word"),
                                plural(static_cast<std::int64_t>(sentence.tags.size()), "tag")));
  }
  for (std::size_t i = 0; i < sentence.tags.size(); ++i) {
    if (sentence.tags[i].empty()) {
      refuse_sentence(path, sentence.line, sentence.element,
                      fmt::format("the tag of word {} is empty", i + 1));
    }
  }
  return sentence;
}

TaggedDataset from_columns(const std::string& path, RowReader& rows, const TaggedOptions& options) {
  std::vector<std::string> header, row;
  if (!rows.next(header)) refuse_empty(path, R"(a row is {"tokens": [..], "ner_tags": [..]})");
  check_header(path, rows.line(), header);
  const TaggedColumns columns = choose_tagged_columns(path, header, options);
  TaggedDataset dataset{.path = path, .labelled = options.labelled};
  dataset.columns.first = {header[static_cast<std::size_t>(columns.words)]};
  if (columns.tags >= 0) dataset.columns.label = header[static_cast<std::size_t>(columns.tags)];
  for (int i = 0; i < static_cast<int>(header.size()); ++i) {
    if (i == columns.words || i == columns.tags) continue;
    dataset.unread.push_back(shown_column(header, static_cast<std::size_t>(i)));
  }
  while ((options.limit < 0 || std::ssize(dataset.sentences) < options.limit) && rows.next(row)) {
    if (row.size() != header.size()) {
      refuse_sentence(path, rows.line(), rows.element(),
                      fmt::format("it has {} fields, the header has {}: {}", row.size(),
                                  header.size(), fields_rule(path)));
    }
    dataset.sentences.push_back(sentence_of(path, rows, row, columns));
  }
  if (dataset.sentences.empty()) refuse_empty(path, "there are only names of columns");
  return dataset;
}

// Whether the first line with a word has a tab. Blank lines, comments and -DOCSTART- do not count.
bool has_tabs(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (trim(line).empty() || line.starts_with('#') || line.starts_with("-DOCSTART-")) continue;
    return line.find('\t') != line.npos;
  }
  return false;
}

// Reads CoNLL lines one after the other.
class ConllReader {
 public:
  ConllReader(const std::string& path, RowReader& rows, bool with_tabs, bool labelled)
      : path_(path), rows_(rows), with_tabs_(with_tabs), labelled_(labelled) {}

  // False at the end of the file.
  bool next(TaggedSentence& sentence) {
    sentence = {};
    while (held_ || read()) {
      held_ = gap_ && !sentence.words.empty();
      gap_ = false;
      if (held_) return true;
      add_word(sentence);
    }
    return !sentence.words.empty();
  }

 private:
  // Reads the next line of a word into fields_.
  bool read() {
    while (rows_.next(fields_)) {
      gap_ = gap_ || rows_.line() > seen_ + 1;
      seen_ = rows_.line();
      if (with_tabs_ && fields_.size() == 1 && fields_[0].starts_with('#')) continue;  // a comment
      if (!with_tabs_) fields_ = split_blanks(join(fields_, " "));
      if (!fields_[0].starts_with("-DOCSTART-")) return true;
      gap_ = true;
    }
    return false;
  }

  void add_word(TaggedSentence& sentence) {
    const auto refuse = [&](const std::string& reason) {
      refuse_sentence(path_, rows_.line(), 0, reason);
    };
    if (columns_ == 0) columns_ = fields_.size();
    if (fields_.size() != columns_) {
      refuse(fmt::format("it has {}, lines before it have {}",
                         plural(static_cast<std::int64_t>(fields_.size()), "column"), columns_));
    }
    if (labelled_ && columns_ < 2) refuse("a line must have a word and its tag");
    if (sentence.words.empty()) sentence.line = rows_.line();
    sentence.words.emplace_back(trim(fields_.front()));
    if (!labelled_) return;
    sentence.tags.emplace_back(trim(fields_.back()));
    if (sentence.tags.back().empty()) refuse("its tag is empty");
  }

  const std::string& path_;
  RowReader& rows_;
  const bool with_tabs_, labelled_;
  std::vector<std::string> fields_;
  std::size_t columns_ = 0;  // of the first line; 0: not read yet
  int seen_ = 0;             // line that was read last
  bool gap_ = false;         // a sentence ended before fields_
  bool held_ = false;        // fields_ is the first line of the next sentence
};

TaggedDataset from_conll(const std::string& path, RowReader& rows, bool with_tabs,
                         const TaggedOptions& options) {
  TaggedDataset dataset{.path = path, .labelled = options.labelled};
  ConllReader reader(path, rows, with_tabs, options.labelled);
  TaggedSentence sentence;
  while ((options.limit < 0 || std::ssize(dataset.sentences) < options.limit) &&
         reader.next(sentence)) {
    dataset.sentences.push_back(std::move(sentence));
  }
  if (dataset.sentences.empty()) refuse_empty(path, "a line is a word, a blank and its tag");
  return dataset;
}

}  // namespace

bool is_conll_name(std::string_view path) {
  constexpr std::array<std::string_view, 4> kEndings = {".conll", ".iob", ".bio", ".txt"};
  const std::string lowered = to_lower(path);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return lowered.ends_with(ending); });
}

TaggedDataset read_tagged(const std::string& path, const TaggedOptions& options) {
  std::string bytes = read_data_file(path, kMostTaggedBytes);
  if (!is_conll_name(path)) {
    return from_columns(
        path, *make_row_reader(path, std::move(bytes), kListEnd, /*lists_in_rows=*/true), options);
  }
  const bool with_tabs = has_tabs(bytes);
  return from_conll(path, *make_tsv_reader(path, std::move(bytes)), with_tabs, options);
}

std::vector<std::string> tag_names(const TaggedDataset& dataset) {
  std::set<std::string> names;
  for (const TaggedSentence& sentence : dataset.sentences) {
    names.insert(sentence.tags.begin(), sentence.tags.end());
  }
  return {names.begin(), names.end()};
}

}  // namespace dtl::trainer
