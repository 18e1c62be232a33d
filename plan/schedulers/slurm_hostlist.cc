// Slurm's grammar (hostlist.c), with positions of errors. Checks the number of names before
// creating them: "n[0-99999999]" is a short text.
#include "plan/schedulers/slurm_hostlist.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/hostlist.h"

namespace dtl {
namespace {

// One name of the list, "r[1-2]c[01-02]s8": the text before each pair of brackets, and its choices.
// A name without brackets is one literal and no set.
struct Pattern {
  std::vector<std::string> literals;
  std::vector<std::vector<std::string>> sets;
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// The text inside brackets: "1-3,07". Hostfiles may have names in brackets ("[n01-n04]"), but not
// Slurm, so this is checked before hostlist.h expands it.
std::vector<std::string> expand_numbers(std::string_view set, const TextPosition& position) {
  std::size_t offset = 0;
  for (const std::string& item : split(set, ',')) {
    const std::size_t dash = item.find('-');
    const std::string_view low = std::string_view(item).substr(0, dash);
    const bool good =
        is_number(low) && (dash == item.npos || is_number(std::string_view(item).substr(dash + 1)));
    if (!good) {
      throw position.at(offset).error(
          fmt::format("'{}' is neither a number nor a range of numbers", printable(item)));
    }
    offset += item.size() + 1;
  }
  return expand_hostlist(fmt::format("[{}]", set),
                         // The set's '[' is one column before.
                         {position.prefix, position.column - 1, position.status});
}

// most: how many names it may have, so that the whole list stays within kMaxHosts.
Pattern read_pattern(std::string_view text, std::size_t most, const TextPosition& position) {
  Pattern pattern;
  std::size_t at = 0, names = 1;
  const auto check_size = [&] {
    if (names > most) throw position.error(fmt::format("more than {} hosts", kMaxHosts));
  };
  check_size();
  do {
    const std::size_t open = std::min(text.find_first_of("[]", at), text.size());
    pattern.literals.emplace_back(text.substr(at, open - at));
    if (open == text.size()) break;
    if (text[open] == ']') throw position.at(open).error("']' without '[' before it");
    const std::size_t close = text.find_first_of("[]", open + 1);
    if (close == text.npos) throw position.at(open).error("'[' without ']' after it");
    if (text[close] == '[') throw position.at(close).error("'[' inside '[...]'");
    pattern.sets.push_back(
        expand_numbers(text.substr(open + 1, close - open - 1), position.at(open + 1)));
    names *= pattern.sets.back().size();
    check_size();
    at = close + 1;
  } while (at < text.size());
  if (pattern.literals.size() > pattern.sets.size() && !pattern.sets.empty()) {
    throw position.at(at).error(
        fmt::format("'{}' after the last ']'", printable(pattern.literals.back())));
  }
  return pattern;
}

// Checks the length of the longest name before creating any.
void check_length(const Pattern& pattern, const TextPosition& position) {
  std::size_t bytes = 0;
  for (const std::string& literal : pattern.literals) bytes += literal.size();
  for (const auto& set : pattern.sets) {
    bytes += std::max_element(set.begin(), set.end(), [](const auto& a, const auto& b) {
               return a.size() < b.size();
             })->size();
  }
  if (bytes <= kMaxHostNameBytes) return;
  throw position.error(fmt::format("a name longer than {} characters", kMaxHostNameBytes));
}

// Slurm iterates over the brackets of a name in a special order: the last one fastest, then from
// the first to the last but one.
void append_names(const Pattern& pattern, std::vector<std::string>& names) {
  const std::size_t sets = pattern.sets.size();
  if (sets == 0) {
    names.push_back(pattern.literals[0]);
    return;
  }
  std::vector<std::size_t> order = {sets - 1};
  for (std::size_t i = 0; i + 1 < sets; ++i) order.push_back(i);
  std::vector<std::size_t> chosen(sets);
  for (std::size_t counted = 0; counted < sets;) {
    std::string name;
    for (std::size_t i = 0; i < sets; ++i) {
      name += pattern.literals[i] + pattern.sets[i][chosen[i]];
    }
    names.push_back(std::move(name));
    for (counted = 0; counted < sets; ++counted) {
      std::size_t& digit = chosen[order[counted]];
      if (++digit < pattern.sets[order[counted]].size()) break;
      digit = 0;
    }
  }
}

}  // namespace

// Commas inside brackets do not separate names. At i == text.size() the last name ends.
std::vector<std::string> expand_slurm_hostlist(std::string_view text,
                                               const TextPosition& position) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '[') inside = true;
      if (text[i] == ']') inside = false;
      if (text[i] != ',' || inside) continue;
    }
    if (i > begin) {  // Slurm treats two commas as one
      const std::string_view item = text.substr(begin, i - begin);
      const TextPosition here = position.at(begin);
      const Pattern pattern = read_pattern(item, kMaxHosts - names.size(), here);
      check_length(pattern, here);
      append_names(pattern, names);
    }
    begin = i + 1;
  }
  if (names.empty()) throw position.error("it names no host");
  return names;
}

bool has_several_brackets(std::string_view text) {
  std::size_t brackets = 0;
  bool inside = false;
  for (const char c : text) {
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c == '[') ++brackets;
    if (c == ',' && !inside) brackets = 0;
    if (brackets > 1) return true;
  }
  return false;
}

// "2(x3),1" is 2, 2, 2, 1: Slurm folds equal neighbours. Compares the count with the nodes at each
// step, so "1(x65536),1(x65536)..." makes no long list.
std::vector<int> expand_slurm_counts(std::string_view text, std::size_t nodes,
                                     const TextPosition& position) {
  std::vector<int> counts;
  std::size_t offset = 0;
  for (const std::string& item : split(text, ',')) {
    const TextPosition here = position.at(offset);
    offset += item.size() + 1;
    const std::size_t open = item.find("(x");
    const bool repeated = open != item.npos && item.ends_with(')');
    const auto number = parse_integer(item.substr(0, open), 1, kMaxRanks);
    const auto times = repeated ? parse_integer(item.substr(open + 2, item.size() - open - 3), 1,
                                                static_cast<std::int64_t>(kMaxHosts))
                                : std::optional<std::int64_t>(1);
    if (!number || !times || (open != item.npos && !repeated)) {
      throw here.error(fmt::format("'{}' is neither a number nor a repeated one, such as 2(x3)",
                                   printable(item)));
    }
    if (counts.size() + static_cast<std::size_t>(*times) > nodes) {
      throw here.error(fmt::format("it has numbers for more than {}",
                                   plural(static_cast<std::int64_t>(nodes), "node")));
    }
    counts.insert(counts.end(), static_cast<std::size_t>(*times), static_cast<int>(*number));
  }
  if (counts.size() < nodes) {
    throw position.error(fmt::format("it has numbers for {} of {}", counts.size(),
                                     plural(static_cast<std::int64_t>(nodes), "node")));
  }
  return counts;
}

}  // namespace dtl
