// nlohmann-json's message names a byte and states of its grammar. This finds the place again and
// describes it in words. It rescans the text, because a failed parse keeps nothing.
#include "trainer/json/json_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

constexpr std::pair<std::string_view, std::string_view> kPythonWords[] = {
    {"True", "true"}, {"False", "false"}, {"None", "null"}};

// The code unit after "\u", as in \uD83D. Empty if no such escape is there.
std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text.substr(at, 2) != "\\u") return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + at + 6;
  const auto parsed = std::from_chars(text.data() + at + 2, end, unit, 16);
  return parsed.ptr == end ? std::optional(unit) : std::nullopt;
}

// The position of a high or low surrogate without its other half.
std::size_t find_half_pair(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != text.npos;) {
    const unsigned unit = escaped_unit(text, at).value_or(0);
    const unsigned next = escaped_unit(text, at + 6).value_or(0);
    const bool pair = unit >= 0xD800 && unit < 0xDC00 && next >= 0xDC00 && next < 0xE000;
    if (!pair && unit >= 0xD800 && unit < 0xE000) return at;
    at = text.find('\\', at + (pair ? 12 : 2));
  }
  return text.npos;
}

// The start of the string, number or word that contains byte `last`. Everything before `last` is
// valid.
std::size_t begin_of_token(std::string_view text, std::size_t last) {
  std::size_t at = 0;
  while (at < last) {
    std::size_t end = at + 1;
    if (text[at] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (std::string_view(" \t\r\n,:[]{}").find(text[at]) == text.npos) {
      end = std::min(text.find_first_of(" \t\r\n,:[]{}\"", at), text.size());
    }
    if (end > last) return at;
    at = end;
  }
  return last;
}

// The text from there on, cut to the length that a message can show.
std::string text_from(std::string_view text, std::size_t at) {
  constexpr std::size_t kMost = 20;
  std::string_view shown = text.substr(at);
  shown = shown.substr(0, shown.find_first_of("\r\n"));
  std::size_t end = std::min(kMost, shown.size());
  while (end < shown.size() && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) ++end;
  return printable(shown.substr(0, end));
}

}  // namespace

JsonFault find_json_fault(std::string_view text) {
  std::size_t at = 0;
  try {
    const Json refused = Json::parse(text);
  } catch (const Json::parse_error& error) {
    // error.byte counts from 1; 0 means unknown.
    at = std::min(error.byte - std::min<std::size_t>(error.byte, 1), text.size());
  } catch (const Json::exception&) {
    // Json::out_of_range does not tell the position.
    return {0, "a number in it is too large"};
  }
  // The library reports the end of an escape or a character, so search a little further.
  const std::size_t lone = find_half_pair(text.substr(0, at + 12));
  // Report the earliest fault: the library may have reported a later one.
  if (lone <= at) {
    return {lone, fmt::format("{} is half of a surrogate pair, which is not a character",
                              text.substr(lone, 6))};
  }
  const std::size_t broken = find_invalid_utf8(text);
  if (broken <= at) return {broken, "it is not JSON in UTF-8: a byte is not UTF-8"};
  if (trim(text.substr(at)).empty()) return {at, "it is not JSON in UTF-8: it ends too early"};
  at = begin_of_token(text, at);
  for (const auto& [theirs, ours] : kPythonWords) {
    if (!text.substr(at).starts_with(theirs)) continue;
    return {at, fmt::format("it is not JSON in UTF-8: {} is Python's word, JSON's is {}", theirs,
                            ours)};
  }
  return {at, fmt::format("it is not JSON in UTF-8, from here on: {}", text_from(text, at))};
}

}  // namespace dtl::trainer
