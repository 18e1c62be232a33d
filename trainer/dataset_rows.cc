#include "trainer/dataset_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace dtl::trainer {
namespace {

[[noreturn]] void fail(const std::string& path, int line, const std::string& reason) {
  throw Error(Exit::kBadInput, fmt::format("{}:{}: cannot read this row", path, line), reason);
}

// The bytes of a file, line by line.
class Lines {
 public:
  explicit Lines(std::string bytes) : bytes_(std::move(bytes)) {
    if (bytes_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  // The next line without its end, or nothing at the end of the file.
  std::optional<std::string_view> next() {
    if (at_ >= bytes_.size()) return std::nullopt;
    const std::size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
    std::string_view line = std::string_view(bytes_).substr(at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = end + 1;
    ++number_;
    return line;
  }

  std::optional<std::string_view> next_with_text() {
    std::optional<std::string_view> line = next();
    while (line && trim(*line).empty()) line = next();
    return line;
  }

  int number() const { return number_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  int number_ = 0;
};

// Tabs separate, and nothing quotes: a leading '"' is text.
class TsvRows : public RowReader {
 public:
  explicit TsvRows(std::string bytes) : lines_(std::move(bytes)) {}

  bool next(std::vector<std::string>& fields) override {
    const auto line = lines_.next_with_text();
    if (!line) return false;
    fields = split(*line, '\t');
    return true;
  }

  int line() const override { return lines_.number(); }

 private:
  Lines lines_;
};

// RFC 4180: fields may be quoted, then "" is a quote and line ends are text.
class CsvRows : public RowReader {
 public:
  CsvRows(std::string path, std::string bytes) : path_(std::move(path)), lines_(std::move(bytes)) {}

  bool next(std::vector<std::string>& fields) override {
    std::optional<std::string_view> line = lines_.next_with_text();
    if (!line) return false;
    first_line_ = lines_.number();
    fields.clear();
    for (std::string_view rest = *line;;) {
      fields.push_back(rest.starts_with('"') ? quoted(rest) : plain(rest));
      if (rest.empty()) return true;
      rest.remove_prefix(1);  // the comma
    }
  }

  int line() const override { return first_line_; }

 private:
  static std::string plain(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string field(rest.substr(0, end));
    rest.remove_prefix(end);
    return field;
  }

  // Leaves `rest` at the comma behind the field, or empty; may go on to further lines.
  std::string quoted(std::string_view& rest) {
    std::string field;
    rest.remove_prefix(1);
    for (;;) {
      const std::size_t quote = rest.find('"');
      field += rest.substr(0, quote);
      if (quote == std::string_view::npos) {
        const auto line = lines_.next();
        if (!line) fail(path_, first_line_, "a quoted field has no end");
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
      fail(path_, lines_.number(), "text follows the closing quote of a field");
    }
    return field;
  }

  std::string path_;
  Lines lines_;
  int first_line_ = 0;
};

// One object per line. The keys of the first one are the columns, in its order.
class JsonRows : public RowReader {
 public:
  JsonRows(std::string path, std::string bytes)
      : path_(std::move(path)), lines_(std::move(bytes)) {}

  bool next(std::vector<std::string>& fields) override {
    if (columns_.empty()) {
      if (!read_object()) return false;
      for (const auto& [key, value] : object_.items()) columns_.push_back(key);
      if (columns_.empty()) fail(path_, lines_.number(), "the object is empty");
      fields = columns_;
      return true;
    }
    if (!pending_ && !read_object()) return false;
    pending_ = false;
    fields.clear();
    for (const std::string& column : columns_) fields.push_back(text_of(column));
    return true;
  }

  int line() const override { return lines_.number(); }

 private:
  using Json = nlohmann::ordered_json;

  bool read_object() {
    const auto line = lines_.next_with_text();
    if (!line) return false;
    object_ = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
    if (!object_.is_object()) fail(path_, lines_.number(), "it is not a JSON object on one line");
    pending_ = true;
    return true;
  }

  std::string text_of(const std::string& column) const {
    const auto found = object_.find(column);
    if (found == object_.end()) {
      fail(path_, lines_.number(), fmt::format("the key '{}' is missing", column));
    }
    if (found->is_string()) return found->get<std::string>();
    if (found->is_number() || found->is_boolean()) return found->dump();
    fail(path_, lines_.number(), fmt::format("the value of '{}' is not a text", column));
  }

  std::string path_;
  Lines lines_;
  std::vector<std::string> columns_;
  Json object_;
  bool pending_ = false;  // object_ was read for its keys and not yet given out
};

}  // namespace

std::unique_ptr<RowReader> make_row_reader(const std::string& path, std::string bytes) {
  const std::string ending = to_lower(path.substr(std::min(path.rfind('.'), path.size())));
  if (ending == ".tsv") return std::make_unique<TsvRows>(std::move(bytes));
  if (ending == ".csv") return std::make_unique<CsvRows>(path, std::move(bytes));
  if (ending == ".json" || ending == ".jsonl") {
    return std::make_unique<JsonRows>(path, std::move(bytes));
  }
  throw Error(Exit::kBadInput, fmt::format("cannot read the data set '{}'", path),
              "its name does not end in .tsv, .csv, .json or .jsonl");
}

}  // namespace dtl::trainer
