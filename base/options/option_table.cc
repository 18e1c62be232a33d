// Readers of single values, for any struct. They return errors as text, and the caller adds where
// the value was written.
#include "base/options/option_table.h"
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace dtl {
namespace {

// Bounds that messages do not mention.
constexpr double kNoBound = 1e30;
constexpr std::int64_t kNoWholeBound = std::int64_t{1} << 40;

// "--tag nightly,run=7" as a file has it: tags = ["nightly", "run=7"]
std::string hint_for_file(const GivenOption& given, const std::string& hint) {
  if (!hint.starts_with('-')) return hint;
  const std::size_t blank = hint.find(' ');
  const auto& names = given.option->names;
  const bool own = std::find(names.begin(), names.end(), hint.substr(0, blank)) != names.end();
  // A hint with another option is useless in a file.
  if (!own || blank == hint.npos) return {};
  const std::string value = hint.substr(blank + 1);
  if (value.find(" -") != value.npos) return {};    // more options
  if (value.find(' ') != value.npos) return value;  // several values, separated by words
  const std::string key = given.spelled.substr(given.spelled.rfind('.') + 1);
  switch (given.option->traits.in_file) {
    case FileValue::kList:
      return fmt::format("{} = [\"{}\"]", key, join(split(value, ','), "\", \""));
    case FileValue::kInteger:
      return fmt::format("{} = {}", key, value);
    case FileValue::kText:
    case FileValue::kRange:
    case FileValue::kPath:
      break;
  }
  return fmt::format("{} = \"{}\"", key, value);
}

}  // namespace

std::string read_flag(const std::string& text, bool& value) {
  const auto truth = text.empty() ? true : parse_truth(text);
  if (!truth) return "neither true nor false";
  value = *truth;
  return {};
}

std::string read_whole(const std::string& text, std::int64_t low, std::int64_t high,
                       std::int64_t& value) {
  // Unlike parse_integer(), this accepts a minus sign, as in --max_steps -1.
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, value);
  if (failed == std::errc() && stopped == end && value >= low && value <= high) return {};
  if (high >= kNoWholeBound) return fmt::format("not a whole number ({} or more)", low);
  return fmt::format("not a whole number ({} to {})", low, high);
}

std::string read_real(const std::string& text, double low, double high, double& value) {
  char* end = nullptr;
  // from_chars would reject "+1" and leading spaces, which Python's float() accepts.
  value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && end == text.c_str() + text.size() && std::isfinite(value);
  if (number && value >= low && value <= high) return {};
  if (low <= -kNoBound && high >= kNoBound) return "not a number";
  if (high >= kNoBound) return fmt::format("not a number ({} or more)", low);
  return fmt::format("not a number ({} to {})", low, high);
}

std::string check_word(const std::string& text, const Option& option) {
  const std::vector<std::string> words = split(option.value, '|');
  if (std::find(words.begin(), words.end(), text) != words.end()) return {};
  return fmt::format("not one of {}", join(words, ", "));
}

Error bad_option_value(const GivenOption& given, std::string reason, std::string_view help) {
  // "--timeout SECONDS": a number of seconds.
  const std::string_view unit = given.option->value;
  const std::size_t bounds = reason.find("number (");
  if ((unit == "SECONDS" || unit == "HOURS") && bounds != reason.npos) {
    reason.insert(bounds + std::string_view("number").size(), " of " + to_lower(unit));
  }
  if (given.place.empty()) return option_error(typed_form(given), reason, std::string(help));
  return file_error(typed_form(given), "", reason, std::string(help));
}

Error in_its_place(const GivenOption& given, const Error& error, std::string_view help) {
  const std::string& reason = error.reason().empty() ? error.attempted() : error.reason();
  if (given.place.empty()) {
    return Error(error.status(), typed_form(given), reason,
                 error.hint().empty() ? std::string(help) : error.hint());
  }
  std::string hint = hint_for_file(given, error.hint());
  return file_error(typed_form(given), "", reason, hint.empty() ? std::string(help) : hint);
}

}  // namespace dtl
