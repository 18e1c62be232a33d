// Three grammars behind one interface. Readers know only rows and fields; dataset.cc chooses
// columns. Errors name the line and, if useful, the byte.
#include "trainer/data/dataset_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/data_file.h"
#include "trainer/json/json_fault.h"
#include "trainer/json/json_list.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

[[noreturn]] void refuse_row(const std::string& place, const std::string& reason,
                             const std::string& hint) {
  throw Error(Exit::kBadInput, place + ": cannot read this row", reason, hint);
}

// The file's lines.
class Lines {
 public:
  Lines(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {
    if (bytes_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    // Files of old Mac programs end lines with CR.
    if (bytes_.find('\n') == std::string::npos) line_end_ = '\r';
  }

  // The next line without its line end; nothing at the end of the file.
  std::optional<std::string_view> next() {
    if (at_ >= bytes_.size()) return std::nullopt;
    const std::size_t end = std::min(bytes_.find(line_end_, at_), bytes_.size());
    std::string_view line = std::string_view(bytes_).substr(at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = end + 1;
    ++number_;
    // Check each line, so that the message can name it.
    const std::size_t broken = find_invalid_utf8(line);
    if (broken != std::string_view::npos) {
      refuse_row(row_place(path_, number_, 0),
                 fmt::format("byte {} of the line is not UTF-8", broken + 1), utf8_hint(path_));
    }
    const std::size_t nul = line.find('\0');
    if (nul != std::string_view::npos) {
      refuse_row(row_place(path_, number_, 0),
                 fmt::format("it has a NUL byte, byte {} of the line", nul + 1),
                 fmt::format("tr -d '\\000' <{} >NEWFILE", one_shell_word(path_)));
    }
    return line;
  }

  // Skip empty lines between rows. next() keeps them, because within a quoted field they are text.
  std::optional<std::string_view> next_with_text() {
    std::optional<std::string_view> line = next();
    BlankLines blank;
    for (; line && trim(*line).empty(); line = next()) {
      if (blank.count++ == 0) blank.first = number_;
    }
    // Do not count empty lines at the end: no row follows them.
    if (!line || blank.count == 0) return line;
    if (blank_.count == 0) blank_.first = blank.first;
    blank_.count += blank.count;
    return line;
  }

  BlankLines blank_lines() const { return blank_; }

  int number() const { return number_; }
  const std::string& path() const { return path_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string path_, bytes_;
  std::size_t at_ = 0;
  char line_end_ = '\n';
  int number_ = 0;
  BlankLines blank_;
};

// Tab-separated without quoting: a leading '"' is text. GLUE's files use this format.
class TsvRows : public RowReader {
 public:
  explicit TsvRows(Lines lines) : lines_(std::move(lines)) {}

  bool next(std::vector<std::string>& fields) override {
    const auto line = lines_.next_with_text();
    if (!line) return false;
    fields = split(*line, '\t');
    return true;
  }

  int line() const override { return lines_.number(); }
  BlankLines blank_lines() const override { return lines_.blank_lines(); }

 private:
  Lines lines_;
};

// Plain text.
class LineRows : public RowReader {
 public:
  explicit LineRows(Lines lines) : lines_(std::move(lines)) {}

  bool next(std::vector<std::string>& fields) override {
    const auto line = lines_.next_with_text();
    if (!line) return false;
    fields = {std::string(*line)};
    return true;
  }

  int line() const override { return lines_.number(); }
  BlankLines blank_lines() const override { return lines_.blank_lines(); }

 private:
  Lines lines_;
};

// RFC 4180: in quoted fields, "" is a quote and line ends are text.
class CsvRows : public RowReader {
 public:
  explicit CsvRows(Lines lines) : lines_(std::move(lines)) {}

  bool next(std::vector<std::string>& fields) override {
    std::optional<std::string_view> line = lines_.next_with_text();
    if (!line) return false;
    first_line_ = lines_.number();
    fields.clear();
    // After a trailing comma there is one more, empty field.
    for (std::string_view rest = *line;;) {
      fields.push_back(rest.starts_with('"') ? quoted(rest) : plain(rest));
      if (rest.empty()) return true;
      rest.remove_prefix(1);  // the comma
    }
  }

  int line() const override { return first_line_; }
  BlankLines blank_lines() const override { return lines_.blank_lines(); }

 private:
  // A quote inside an unquoted field is text.
  static std::string plain(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string field(rest.substr(0, end));
    rest.remove_prefix(end);
    return field;
  }

  // Leaves `rest` at the comma after the field, or empty. May read further lines.
  std::string quoted(std::string_view& rest) {
    std::string field;
    rest.remove_prefix(1);
    for (;;) {
      const std::size_t quote = rest.find('"');
      field += rest.substr(0, quote);
      if (quote == std::string_view::npos) {
        const auto line = lines_.next();
        if (!line) {
          refuse_row(row_place(lines_.path(), first_line_, 0), "a quoted field has no end",
                     kQuotes);
        }
        // A line end, with or without CR, becomes LF.
        field += '\n';
        rest = *line;
        continue;
      }
      rest.remove_prefix(quote + 1);
      if (!rest.starts_with('"')) break;
      field += '"';
      rest.remove_prefix(1);
    }
    if (!rest.empty() && rest[0] != ',') {
      refuse_row(row_place(lines_.path(), lines_.number(), 0),
                 "text follows the closing quote of a field", kQuotes);
    }
    return field;
  }

  static constexpr const char* kQuotes = "\"\" for a quote inside a quoted field";

  Lines lines_;
  int first_line_ = 0;
};

// One object per line or per list element. The first object's keys, in order, are the columns.
// Other objects must have these keys and may have more.
class JsonRows : public RowReader {
 public:
  JsonRows(Lines lines, std::optional<std::vector<JsonElement>> list, char list_delimiter)
      : lines_(std::move(lines)), list_(std::move(list)), list_delimiter_(list_delimiter) {}

  bool next(std::vector<std::string>& fields) override {
    // The first call returns the header. The second call returns the object that it came from.
    if (columns_.empty()) {
      if (!read_object()) return false;
      for (const auto& [key, value] : object_.items()) columns_.push_back(key);
      if (columns_.empty()) fail_here("the object is empty");
      fields = columns_;
      return true;
    }
    if (!pending_ && !read_object()) return false;
    pending_ = false;
    fields.clear();
    for (const std::string& column : columns_) fields.push_back(text_of(column));
    return true;
  }

  int line() const override { return list_ ? (*list_)[elements_ - 1].line : lines_.number(); }
  int element() const override { return static_cast<int>(elements_); }
  BlankLines blank_lines() const override { return lines_.blank_lines(); }

 private:
  using Json = nlohmann::ordered_json;

  [[noreturn]] void fail_here(const std::string& reason) const {
    refuse_row(row_place(lines_.path(), line(), element()), reason,
               show_line(lines_.path(), line()));
  }

  std::optional<std::string_view> next_text() {
    if (!list_) return lines_.next_with_text();
    if (elements_ == list_->size()) return std::nullopt;
    const JsonElement& element = (*list_)[elements_++];
    return std::string_view(lines_.bytes()).substr(element.begin, element.size);
  }

  // Parses one row. Keeps the JSON in object_, because the first row is needed twice.
  bool read_object() {
    const auto text = next_text();
    if (!text) return false;
    object_ = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (object_.is_discarded()) {
      const JsonFault fault = find_json_fault(*text);
      fail_here(fmt::format("{}, at character {} of the line", fault.reason,
                            count_code_points(text->substr(0, fault.at)) + 1));
    }
    if (!object_.is_object()) {
      fail_here(list_ ? "it is not a JSON object, {\"key\": \"text\", ..}"
                      : "it is not a JSON object, {\"key\": \"text\", ..}, on one line");
    }
    pending_ = true;
    return true;
  }

  // As in a .csv, since the rest of the program only knows text cells.
  std::string text_of(const std::string& column) const {
    const auto found = object_.find(column);
    if (found == object_.end()) {
      fail_here(fmt::format("the key '{}' is missing, which the first row has", column));
    }
    if (found->is_string()) return found->get<std::string>();
    if (found->is_null()) return {};  // same as an empty cell of a .csv
    if (found->is_number() || found->is_boolean()) return found->dump();
    if (found->is_array() && list_delimiter_ != '\0') return list_text(column, *found);
    fail_here(fmt::format("the value of '{}' is not a text or a number", column));
  }

  // Joins labels into one cell, as in a .csv; dataset.cc splits it at the same delimiter.
  std::string list_text(const std::string& column, const Json& list) const {
    std::vector<std::string> texts;
    for (const Json& element : list) {
      const bool text = element.is_string();
      if (!text && !element.is_number_integer()) {
        fail_here(fmt::format("the list '{}' has an element that is neither a text nor a number",
                              column));
      }
      texts.push_back(text ? element.get<std::string>() : element.dump());
      // If a label contains the delimiter, the joined text cannot be split again.
      if (texts.back().find(list_delimiter_) != std::string::npos) {
        fail_here(fmt::format("'{}' in the list '{}' has the delimiter '{}' in it", texts.back(),
                              column, list_delimiter_));
      }
    }
    return join(texts, std::string(1, list_delimiter_));
  }

  Lines lines_;
  std::optional<std::vector<JsonElement>> list_;  // elements, as ranges of lines_
  std::size_t elements_ = 0;                      // number of elements read
  char list_delimiter_;
  std::vector<std::string> columns_;
  Json object_;
  bool pending_ = false;  // object_ was read for its keys but not yet returned
};

}  // namespace

std::string row_place(const std::string& path, int line, int element) {
  const std::string place = fmt::format("{}:{}", path, line);
  return element > 0 ? fmt::format("{} (element {})", place, element) : place;
}

std::string fields_rule(const std::string& path) {
  return path.ends_with(".csv") ? "a text with a comma in it needs double quotes around it"
                                : "a text cannot have a tab in it, except in a .csv file";
}

std::string show_line(const std::string& path, int line) {
  return fmt::format("sed -n {}p {}", line, one_shell_word(path));
}

std::string add_names(const std::string& path, const std::vector<std::string>& names) {
  return fmt::format("sed -i '1i {}' {}", join(names, path.ends_with(".csv") ? "," : "\\t"),
                     one_shell_word(path));
}

// Columns are chosen by name, so names must be unique.
void check_header(const std::string& path, int line, const std::vector<std::string>& header) {
  std::map<std::string_view, std::size_t> columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto [first, is_new] = columns.emplace(header[i], i);
    if (is_new) continue;
    throw Error(
        Exit::kBadInput, fmt::format("{}: cannot use the columns", row_place(path, line, 0)),
        fmt::format("{} and {} have the same name '{}'", first->second + 1, i + 1, header[i]),
        show_line(path, line));
  }
}

std::unique_ptr<RowReader> make_row_reader(const std::string& path, std::string bytes,
                                           char list_delimiter, bool lists_in_rows) {
  const std::string ending = to_lower(path.substr(std::min(path.rfind('.'), path.size())));
  const bool json = ending == ".json" || ending == ".jsonl";
  // Keep positions, not views: the bytes move into Lines below.
  std::optional<std::vector<JsonElement>> list;
  if (json) list = find_json_list(path, bytes, lists_in_rows);
  if (list && list->empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the data set", path),
                "its list is empty", "head -c 400 " + one_shell_word(path));
  }
  if (ending == ".csv") check_separator(path, bytes, ',');
  // Of a file with another ending, by its first line.
  const std::string_view first = std::string_view(bytes).substr(0, bytes.find('\n'));
  const char* const kind = trim(first).starts_with('{')            ? ".jsonl"
                           : trim(first).starts_with('[')          ? ".json"
                           : first.find('\t') != std::string::npos ? ".tsv"
                                                                   : ".csv";
  if (ending == ".tsv") check_separator(path, bytes, '\t');
  Lines lines(path, std::move(bytes));
  if (ending == ".tsv") return std::make_unique<TsvRows>(std::move(lines));
  if (ending == ".csv") return std::make_unique<CsvRows>(std::move(lines));
  if (json) return std::make_unique<JsonRows>(std::move(lines), std::move(list), list_delimiter);
  const bool tags = ending == ".conll" || ending == ".iob" || ending == ".bio";
  const bool plain_text = ending == ".txt" && std::string_view(kind) == ".csv" &&
                          first.find(',') == std::string_view::npos;
  throw Error(Exit::kBadInput, path + ": cannot read the data set",
              "its name does not end in .tsv, .csv, .json or .jsonl",
              tags ? "--task token_classification"
              : plain_text
                  ? "--task masked_lm"
                  : fmt::format("cp {} {}", one_shell_word(path), one_shell_word(path + kind)));
}

std::unique_ptr<RowReader> make_line_reader(const std::string& path, std::string bytes) {
  return std::make_unique<LineRows>(Lines(path, std::move(bytes)));
}

std::unique_ptr<RowReader> make_tsv_reader(const std::string& path, std::string bytes) {
  return std::make_unique<TsvRows>(Lines(path, std::move(bytes)));
}

}  // namespace dtl::trainer
