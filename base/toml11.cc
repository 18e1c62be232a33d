// Converts errors of both versions to one Complaint, and its text to our own words: toml11's are
// hard to read or empty, and differ between versions.
#include "base/toml11.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr int kMaxDepth = 64;  // toml11 recurses; thousands of '[' would overflow the stack

// Scans TOML text, recognising only strings and comments, to count how deep brackets and dotted
// keys nest.
class DepthScanner {
 public:
  explicit DepthScanner(std::string_view text) : text_(text) {}

  // The line where the nesting is too deep; 0 if it never is.
  std::size_t too_deep() {
    std::size_t line = 1;
    int brackets = 0, dots = 0;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      // Brackets and dots in strings and comments do not count.
      if (c == '"' || c == '\'') line += skip_string(c);
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ < text_.size() && text_[at_] == '\n') ++line;
      if (c == '[' || c == '{') ++brackets;
      if (c == ']' || c == '}') --brackets;
      if (c == '.') ++dots;
      if (std::string_view("=,\n#[]{}").find(c) != std::string_view::npos) dots = 0;
      // a.b.c nests as brackets do: each dot is a table.
      if (brackets > kMaxDepth || dots > kMaxDepth) return line;
    }
    return 0;
  }

 private:
  // Skips from an opening quote to its closing one, or to the end of the text without one. Returns
  // the number of newlines passed.
  std::size_t skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multi_line = text_.substr(at_, 3) == triple;
    const std::string_view closing = multi_line ? std::string_view(triple) : text_.substr(at_, 1);
    std::size_t lines = 0;
    for (at_ += closing.size(); at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n' && !multi_line) {  // the parser will complain
        --at_;
        return lines;
      }
      if (text_[at_] == '\n') ++lines;
      if (text_[at_] == '\\' && quote == '"') {
        if (++at_ < text_.size() && text_[at_] == '\n') ++lines;
      } else if (text_.substr(at_, closing.size()) == closing) {
        at_ += closing.size() - 1;
        return lines;
      }
    }
    return lines;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Rejects text that would overflow toml11's stack, or make it read beyond its buffer.
void check_text(const std::string& text, const std::string& path_for_messages) {
  if (const std::size_t line = DepthScanner(text).too_deep(); line != 0) {
    throw file_error(file_place(path_for_messages, line), "",
                     fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  // toml11 3.7 reads beyond its buffer while reporting such a byte in a literal string.
  if (const std::size_t at = find_invalid_utf8(text); at != std::string::npos) {
    const auto line = 1 + std::count(text.data(), text.data() + at, '\n');
    throw file_error(
        file_place(path_for_messages, static_cast<std::size_t>(line)), "",
        fmt::format("byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text[at])),
        "file " + one_shell_word(path_for_messages));
  }
}

// toml11's error about a text that it cannot parse.
struct Complaint {
  std::string title;    // "toml::parse_array: missing array separator `,` after a value"
  std::size_t line;     // from 1
  std::string excerpt;  // of that line
  std::string key;      // the key that already exists, in quotes; or empty
  bool at_end = false;  // only a comment follows the place on its line
};

// Parts of the messages of toml11 3 and 4, and our words. The first match counts.
struct Wording {
  std::string_view heard, said;
};
constexpr std::string_view kNoSeparator = "missing key-value separator `=`";
constexpr std::string_view kNoValue = "missing value after key-value separator '='";
constexpr std::string_view kUnknownValue = "unknown value (a string needs quotes)";
constexpr std::string_view kArray = "missing array separator `,` after a value";
constexpr std::string_view kInlineTable = "malformed inline table";
constexpr std::string_view kCharacter = "no character has this number";
constexpr std::string_view kString = "malformed or unfinished string";
constexpr std::string_view kNumber = "malformed number";
constexpr std::string_view kTime = "malformed date or time";
constexpr std::string_view kKey = "malformed key";
constexpr std::string_view kLineEnd = "the line should end here";
// The order matters: "key" is part of many messages and comes last.
constexpr std::array kWordings = std::to_array<Wording>({
    {"missing key-value separator", kNoSeparator},
    {"invalid key value separator", kNoSeparator},
    {"invalid format for key", kNoSeparator},
    {"missing value after", kNoValue},
    {"missing array separator", kArray},
    {"separator `,` or closing `]`", kArray},
    {"closing bracket `]`", kArray},
    {"inline_table", kInlineTable},
    {"odepoint", kCharacter},
    {"string: ", kString},
    {"unknown value", kUnknownValue},
    {"value having invalid format", kUnknownValue},
    {"parse_value", kUnknownValue},
    {"parse_boolean", kUnknownValue},
    {"parse_floating", kUnknownValue},
    {"bad integer", kNumber},
    {"bad float", kNumber},
    {"bad number", kNumber},
    {"_integer", kNumber},
    {"date", kTime},
    {"time", kTime},
    {"newline", kLineEnd},
    {"invalid line format", kLineEnd},
    {"key", kKey},
});

std::string reason_of(const Complaint& complaint) {
  const auto heard = [&](std::string_view part) {
    return complaint.title.find(part) != std::string::npos;
  };
  if (heard("insert_value")) {
    return complaint.key.empty() ? "this key cannot be added"
                                 : fmt::format("value ({}) already exists", complaint.key);
  }
  if (complaint.at_end && heard("unknown value")) return std::string(kNoValue);
  for (const Wording& wording : kWordings) {
    if (heard(wording.heard)) return std::string(wording.said);
  }
  return complaint.title;
}

// toml11 parses dates (3) and escapes (4) separately from their file, and counts their lines from
// 1. The line that it quotes shows where they are.
std::size_t line_of(const Complaint& complaint, const std::vector<std::string>& lines) {
  const auto has = [&](const std::string& line) {
    return line.find(complaint.excerpt) != std::string::npos;
  };
  const std::size_t index = complaint.line - 1;
  if (index >= lines.size() || has(lines[index])) return complaint.line;
  const auto found = std::find_if(lines.begin(), lines.end(), has);
  if (found == lines.end()) return complaint.line;
  return static_cast<std::size_t>(found - lines.begin()) + 1;
}

Error error_of(const Complaint& complaint, const std::string& text, const std::string& path) {
  const std::vector<std::string> lines = split(text, '\n');
  const std::size_t number = line_of(complaint, lines);
  std::string line;
  if (number >= 1 && number <= lines.size()) line = trim(lines[number - 1]).substr(0, 60);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      c = '?';  // no control bytes to a terminal
  }
  std::string reason = reason_of(complaint);
  if (!line.empty()) reason += fmt::format(", in '{}'", line);
  return file_error(file_place(path, number), "", reason);
}

#if TOML11_VERSION_MAJOR >= 4
// toml11 4 continues after an error; the first one is the cause.
Complaint complaint_of(const std::vector<toml::error_info>& errors) {
  const toml::error_info& error = errors.at(0);
  Complaint result{error.title(), 1, {}, {}};
  if (error.locations().empty()) return result;
  const toml::source_location& place = error.locations()[0].first;
  result.line = place.first_line_number();
  if (place.num_lines() == 0) return result;
  result.excerpt = place.first_line();
  const std::size_t at = std::min(place.first_column_offset() - 1, result.excerpt.size());
  const std::string_view rest = trim(std::string_view(result.excerpt).substr(at));
  result.at_end = rest.empty() || rest[0] == '#';
  result.key = result.excerpt.substr(at, place.length());
  while (result.key.starts_with('[') && result.key.ends_with(']')) {
    result.key = result.key.substr(1, result.key.size() - 2);
  }
  if (!result.key.starts_with('"')) result.key = fmt::format("\"{}\"", result.key);
  return result;
}

TomlValue parsed(const std::string& text, const std::string& path) {
  std::istringstream stream(text);
  auto result = toml::try_parse<TomlTypes>(stream, path);
  if (result.is_err()) throw error_of(complaint_of(result.unwrap_err()), text, path);
  return std::move(result.unwrap());
}
#else
// "... value (\"t.a\") already exists", "... target (t) is neither table nor ...".
std::string key_of(std::string_view title) {
  const std::size_t from = title.find('('), to = title.find(')', from);
  if (from == title.npos || to == title.npos) return {};
  const std::string_view key = title.substr(from + 1, to - from - 1);
  return key.starts_with('"') ? std::string(key) : fmt::format("\"{}\"", key);
}

Complaint complaint_of(const toml::exception& error) {
  std::string title = error.what();
  title.resize(std::min(title.find('\n'), title.size()));
  return {title, error.location().line(), error.location().line_str(), key_of(title)};
}

TomlValue parsed(const std::string& text, const std::string& path) {
  std::istringstream stream(text);
  try {
    return toml::parse<toml::discard_comments, std::map, std::vector>(stream, path);
  } catch (const toml::exception& error) {
    throw error_of(complaint_of(error), text, path);
  }
}
#endif

}  // namespace

#if TOML11_VERSION_MAJOR >= 4
toml::result<TomlTypes::integer_type, toml::error_info> TomlTypes::parse_int(
    const std::string& digits, toml::source_location place, std::uint8_t base) {
  // toml_file.cc refuses the clamped number, naming its key and line.
  auto result = toml::read_int<integer_type>(digits, place, base);
  if (result.is_ok()) return result;
  return toml::ok(digits.starts_with('-') ? INT64_MIN : INT64_MAX);
}

toml::result<TomlTypes::floating_type, toml::error_info> TomlTypes::parse_float(
    const std::string& digits, toml::source_location, bool) {
  double number = 0;
  std::istringstream(digits) >> number;  // the largest one if the number is larger
  return toml::ok(number);
}

TomlPlace place_of(const TomlValue& value) {
  const toml::source_location place = value.location();
  return {place.first_line_number(), place.first_column_number()};
}

const std::string& text_of(const TomlValue& value) {
  return value.as_string();
}
#else
TomlPlace place_of(const TomlValue& value) {
  const toml::source_location place = value.location();
  return {place.line(), place.column()};
}

const std::string& text_of(const TomlValue& value) {
  return value.as_string().str;
}
#endif

TomlValue parse_toml(const std::string& text, const std::string& path_for_messages) {
  check_text(text, path_for_messages);
  try {
    return parsed(text, path_for_messages);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // from the standard library, through toml11
    throw file_error(file_place(path_for_messages, 1), "", error.what());
  }
}

}  // namespace dtl
