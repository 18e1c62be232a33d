// Splits a pattern into pieces, each a list of choices. Names are created only after checking their
// number and length: a short text can mean billions.
#include "plan/request/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace dtl {
namespace {

using Choices = std::vector<std::string>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "n01" -> 1, the index where its number starts; the length if it has none.
std::size_t number_start(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0 && is_digit(text[start - 1])) --start;
  return start;
}

struct Range {
  std::string_view stem, low, high;  // "n", "01", "04"
};

// "n01-n04" or "01-04": splits at the first dash with the same stem and a number on both sides,
// because a name may contain dashes.
std::optional<Range> split_range(std::string_view item) {
  for (std::size_t dash = item.find('-'); dash != item.npos; dash = item.find('-', dash + 1)) {
    const std::string_view left = item.substr(0, dash), right = item.substr(dash + 1);
    const std::size_t start = number_start(left);
    const std::string_view stem = left.substr(0, start);
    if (start == left.size() || !right.starts_with(stem)) continue;
    const std::string_view high = right.substr(start);
    if (!high.empty() && number_start(high) == 0) return Range{stem, left.substr(start), high};
  }
  return std::nullopt;
}

// "n01-m04" or "01-n04" would be a valid name, but most likely is a mistaken range.
bool looks_like_range(std::string_view item) {
  const std::size_t dash = item.find('-');
  return dash != item.npos && dash > 0 && is_digit(item[dash - 1]) && is_digit(item.back());
}

void append_range(const Range& range, std::string_view item, const TextPosition& position,
                  Choices& choices) {
  // INT64_MAX - 1: the loop below goes one past `high`.
  const auto low = parse_integer(range.low, 0, INT64_MAX - 1);
  const auto high = parse_integer(range.high, 0, INT64_MAX - 1);
  if (!low || !high) throw position.error(fmt::format("the numbers of '{}' are too large", item));
  if (*high < *low) {
    throw position.error(fmt::format("the range '{}' runs backwards", item),
                         fmt::format("{0}{1}-{0}{2}", range.stem, range.high, range.low));
  }
  if (static_cast<std::uint64_t>(*high - *low) >= kMaxHosts - std::min(choices.size(), kMaxHosts)) {
    throw position.error(fmt::format("the range '{}' has more than {} hosts", item, kMaxHosts));
  }
  for (std::int64_t number = *low; number <= *high; ++number) {
    // The width of `low`: 8-10 has no zeros, and 08-10 has them.
    choices.push_back(fmt::format("{}{:0{}}", range.stem, number, range.low.size()));
  }
}

// The text inside one pair of brackets.
Choices expand_set(std::string_view set, const TextPosition& position) {
  Choices choices;
  std::size_t offset = 0;
  for (const std::string& item : split(set, ',')) {
    const TextPosition here = position.at(offset);
    offset += item.size() + 1;
    if (item.empty()) {
      throw here.error(fmt::format("nothing stands between the commas of '[{}]'", set));
    }
    // Twice, for a range of two whole names.
    if (item.size() > 2 * kMaxHostNameBytes + 1) throw here.error("the name is too long");
    if (const auto range = split_range(item)) {
      append_range(*range, item, here, choices);
    } else if (looks_like_range(item)) {
      throw here.error(fmt::format("'{}' is not a range of one name", item),
                       "n[01-04] or [n01-n04]");
    } else {
      choices.push_back(item);
    }
    if (choices.size() > kMaxHosts) {
      throw here.error(fmt::format("the set has more than {} hosts", kMaxHosts));
    }
  }
  return choices;
}

// Splits "rack[1-2]n[01-04]" into literals (one choice) and sets. Stops before expanding a set once
// the number of names is too large.
std::vector<Choices> cut(std::string_view pattern, const TextPosition& position) {
  std::vector<Choices> pieces;
  std::size_t hosts = 1;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] == ']') throw position.at(at).error("']' without '[' before it");
    if (pattern[at] != '[') {
      const std::size_t end = std::min(pattern.find_first_of("[]", at), pattern.size());
      pieces.push_back({std::string(pattern.substr(at, end - at))});
      at = end;
      continue;
    }
    const std::size_t end = pattern.find_first_of("[]", at + 1);
    if (end == pattern.npos) {
      throw position.at(at).error(fmt::format("'{}' has no ']'", pattern.substr(at)),
                                  "n[01-04], without blanks");
    }
    if (pattern[end] == '[') throw position.at(end).error("'[' inside '[...]'");
    pieces.push_back(expand_set(pattern.substr(at + 1, end - at - 1), position.at(at + 1)));
    // Both factors are at most kMaxHosts, so the product cannot overflow.
    hosts *= pieces.back().size();
    if (hosts > kMaxHosts) {
      throw position.error(fmt::format("'{}' has more than {} hosts", pattern, kMaxHosts));
    }
    at = end + 1;
  }
  return pieces;
}

void check_length(const std::vector<Choices>& pieces, std::string_view pattern,
                  const TextPosition& position) {
  std::size_t name_bytes = 0;
  for (const Choices& choices : pieces) {
    std::size_t longest = 0;
    for (const std::string& choice : choices) longest = std::max(longest, choice.size());
    name_bytes += longest;
  }
  if (name_bytes > kMaxHostNameBytes) {
    throw position.error(fmt::format("the name '{}...' is longer than {} characters",
                                     pattern.substr(0, 32), kMaxHostNameBytes));
  }
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view pattern, const TextPosition& position) {
  if (pattern.empty()) throw position.error("a host name is missing");
  const std::vector<Choices> pieces = cut(pattern, position);
  check_length(pieces, pattern, position);
  std::vector<std::string> names = {""};
  for (const Choices& choices : pieces) {
    std::vector<std::string> longer;
    longer.reserve(names.size() * choices.size());
    for (const std::string& name : names) {
      for (const std::string& choice : choices) longer.push_back(name + choice);
    }
    names = std::move(longer);
  }
  return names;
}

}  // namespace dtl
