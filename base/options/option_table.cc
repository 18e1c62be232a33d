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

// A bound that a message does not mention.
constexpr double kNoBound = 1e30;

// "(0 to 5)", "(0 or more)"; empty for all numbers.
std::string real_range(double low, double high) {
  if (high < kNoBound) return fmt::format("({} to {})", low, high);
  return low <= -kNoBound ? std::string() : fmt::format("({} or more)", low);
}

// "--timeout SECONDS": "not a number of seconds (1 to 5)", "too large (1 to 5 seconds)".
std::string with_unit(std::string reason, std::string_view column) {
  if (column.starts_with('[')) column = column.substr(1, column.size() - 2);  // "[SECONDS]"
  if (column != "SECONDS" && column != "HOURS") return reason;
  const std::string unit = to_lower(column);
  const std::size_t bounds = reason.find("number (");
  if (bounds != reason.npos) {
    reason.insert(bounds + std::string_view("number").size(), " of " + unit);
  } else if (reason.starts_with("too ") && reason.ends_with(')')) {
    reason.insert(reason.size() - 1, " " + unit);
  }
  return reason;
}

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
    case FileValue::kFlagOrInteger:
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
  return whole_number_fault(text, low, high);
}

std::string read_real(const std::string& text, double low, double high, double& value) {
  char* end = nullptr;
  // from_chars would reject "+1" and leading spaces, which Python's float() accepts.
  value = std::strtod(text.c_str(), &end);
  const bool whole_text = !text.empty() && end == text.c_str() + text.size();
  const std::string range = real_range(low, high);
  // 1e999 is a number, beyond what a double holds; "inf" is not.
  const bool number = whole_text &&
                      (std::isfinite(value) || to_lower(text).find("inf") == text.npos) &&
                      !std::isnan(value);
  if (!number) return range.empty() ? "not a number" : "not a number " + range;
  if (value < low || value > high) return (value < low ? "too small " : "too large ") + range;
  return std::isfinite(value) ? std::string() : "too large";
}

std::string check_word(const std::string& text, const Option& option) {
  const std::vector<std::string> words = split(option.value, '|');
  if (std::find(words.begin(), words.end(), text) != words.end()) return {};
  const std::string reason = fmt::format("not one of {}", join(words, ", "));
  const std::string near = nearest_word(text, words);
  if (near.empty()) return reason;
  throw option_error(text, reason, fmt::format("{} {}", option.names.back(), near));
}

Error bad_option_value(const GivenOption& given, std::string reason, std::string_view help) {
  reason = with_unit(std::move(reason), given.option->value);
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
