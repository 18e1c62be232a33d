// No locale: isalpha() and similar functions depend on the user's environment, and the meaning of a
// hostfile must not.
#include "base/text.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace dtl {
namespace {

// A bound that a message does not mention.
constexpr std::int64_t kNoWholeBound = std::int64_t{1} << 40;

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Levenshtein's, where two neighbours that changed places are one mistake: "hlep". row[j] is the
// distance of a's first i letters to b's first j; `above` is the row of one letter less in a, and
// `higher` that of two less.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above(row), higher(row);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    higher.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], higher[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Length of the well-formed character at the beginning of a non-empty text; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  // 80..BF continue a character; C0 and C1 begin overlong forms, F5..FF would exceed U+10FFFF.
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  // The second byte's range excludes overlong forms, surrogates and code points beyond the last.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// The code point of a well-formed character.
char32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  char32_t point = lead & (0x7fU >> character.size());
  for (const char c : character.substr(1))
    point = point << 6 | (static_cast<unsigned char>(c) & 63U);
  return point;
}

bool is_hidden(char32_t point) {
  struct Range {
    char32_t first, last;
  };
  // Characters that change the text's direction or have no width can make a line look different.
  constexpr std::array<Range, 12> kHidden{{
      {0x00, 0x1f},        // controls
      {0x7f, 0x9f},        // DEL, and controls that some terminals obey like ESC [
      {0xad, 0xad},        // soft hyphen
      {0x61c, 0x61c},      // a mark of direction
      {0x180e, 0x180e},    // no width
      {0x200b, 0x200b},    // no width
      {0x200e, 0x200f},    // marks of direction
      {0x2028, 0x202e},    // separators of lines, embeddings and overrides of direction
      {0x2060, 0x206f},    // no width, isolates of direction
      {0xfeff, 0xfeff},    // no width
      {0xfff9, 0xfffb},    // annotations
      {0xe0000, 0xe0fff},  // tags
  }};
  return std::any_of(kHidden.begin(), kHidden.end(), [&](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

std::string spelled_out(char32_t point) {
  // In the syntax of C and Python, so that people can read it back.
  if (point == '\n') return "\\n";
  if (point == '\r') return "\\r";
  if (point == '\t') return "\\t";
  const auto number = static_cast<std::uint32_t>(point);
  return point < 0x80      ? fmt::format("\\x{:02x}", number)
         : point < 0x10000 ? fmt::format("\\u{:04x}", number)
                           : fmt::format("\\U{:08x}", number);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t at = text.find(separator);
    pieces.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<bool> parse_truth(std::string_view text) {
  // The words of Python's strtobool(), which accelerate uses too.
  constexpr std::array<std::string_view, 6> kTrue{"true", "t", "yes", "y", "on", "1"};
  constexpr std::array<std::string_view, 6> kFalse{"false", "f", "no", "n", "off", "0"};
  const std::string word = to_lower(text);
  if (std::find(kTrue.begin(), kTrue.end(), word) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), word) != kFalse.end()) return false;
  return std::nullopt;
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  const bool starts_with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return !name.empty() && !starts_with_digit &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

namespace {

// A host's name around the last number of its first label.
struct NumberedName {
  std::string before, digits, after;
};

NumberedName number_of(const std::string& name) {
  constexpr std::size_t kMostDigits = 9;  // fits a number; longer ones are names
  const bool is_address =
      name.find_first_not_of("0123456789.") == name.npos || name.find(':') != name.npos;
  const std::size_t label = std::min(name.find('.'), name.size());
  std::size_t end = label;
  while (end > 0 && (name[end - 1] < '0' || name[end - 1] > '9')) --end;
  std::size_t begin = end;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  if (is_address || begin == end || end - begin > kMostDigits) return {name, "", ""};
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

// A number, as value and as it is written.
using Written = std::pair<unsigned long, std::string>;

// "08" and "09", "09" and "10", "9" and "10"; not "08" and "9".
bool follows(const Written& next, const Written& one) {
  const bool unpadded = one.second[0] != '0' && next.second[0] != '0';
  return next.first == one.first + 1 && (unpadded || next.second.size() == one.second.size());
}

}  // namespace

std::string fold_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += '-' + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string fold_hosts(const std::vector<std::string>& names) {
  struct Item {
    std::string before, after;
    std::set<Written> numbers;
  };
  std::vector<Item> items;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const std::string& name : names) {
    const NumberedName parts = number_of(name);
    const auto [at, is_new] = known.try_emplace({parts.before, parts.after}, items.size());
    if (is_new) items.push_back({parts.before, parts.after, {}});
    if (parts.digits.empty()) continue;
    items[at->second].numbers.emplace(std::stoul(parts.digits), parts.digits);
  }
  std::vector<std::string> texts;
  for (const Item& item : items) {
    std::string ranges;
    for (auto at = item.numbers.begin(); at != item.numbers.end();) {
      auto last = at;
      while (std::next(last) != item.numbers.end() && follows(*std::next(last), *last)) {
        ++last;
      }
      ranges += (ranges.empty() ? "" : ",") + at->second;
      if (last != at) ranges += '-' + last->second;
      at = std::next(last);
    }
    if (item.numbers.size() > 1) ranges = '[' + ranges + ']';
    texts.push_back(item.before + ranges + item.after);
  }
  return join(texts, ", ");
}

std::string last_line(std::string_view text) {
  const std::vector<std::string> lines = split(trim(text), '\n');
  return std::string(trim(lines.back()));
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string age_text(std::int64_t seconds) {
  seconds = std::max<std::int64_t>(seconds, 0);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d", seconds / 86400);
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces.begin(), pieces.end(), separator));
}

std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                          std::int64_t high) {
  // from_chars would accept a minus sign.
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < low || value > high) return std::nullopt;
  return value;
}

std::string whole_number_fault(std::string_view text, std::int64_t low, std::int64_t high,
                               std::string_view noun) {
  // One that has too many digits for 64 bits is still a number.
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = is_whole_number(text);
  const bool negative = text.starts_with('-');
  const bool small = whole && (error == std::errc() ? value < low : negative);
  const bool is_open = high >= kNoWholeBound && (small || !whole);
  const std::string range =
      is_open ? fmt::format("{} or more", low) : fmt::format("{} to {}", low, high);
  if (!whole && noun.empty()) return fmt::format("not a whole number ({})", range);
  if (!whole) return fmt::format("not a number of {} ({})", noun, range);
  return fmt::format("too {} ({}{}{})", small ? "small" : "large", range, noun.empty() ? "" : " ",
                     noun);
}

// Three mistakes at most, and at most one in three letters: a short word is near to too many
// others.
std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  // One more than the largest accepted distance.
  std::size_t best_distance = 4;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && 3 * distance <= std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string nearest_word(std::string_view word, std::span<const std::string> candidates) {
  std::vector<std::string> lower;
  for (const std::string& candidate : candidates) lower.push_back(to_lower(candidate));
  const std::string near = nearest(to_lower(word), lower);
  const auto found = std::find(lower.begin(), lower.end(), near);
  return near.empty() ? near : candidates[static_cast<std::size_t>(found - lower.begin())];
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    // A byte that belongs to no character is escaped alone.
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_hidden(code_point(character))) {
      shown += spelled_out(code_point(character));
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    // Part of a CRLF: escaped, it would appear at the end of each line.
    if (line.ends_with('\r')) line.pop_back();
    line = printable(line);
  }
  return join(lines, "\n");
}

std::string utc_text(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string signal_name(int signal_number) {
  // Not strsignal(3), whose text depends on the locale.
  const char* name = ::sigabbrev_np(signal_number);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal_number);
}

bool looks_secret(std::string_view variable_name) {
  // One name too many is better than a secret shown: MONKEY counts as secret too.
  constexpr std::array<std::string_view, 8> kMarks = {"token", "secret",     "password", "passwd",
                                                      "_pwd",  "credential", "key",      "auth"};
  const std::string lower = to_lower(variable_name);
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return lower.find(mark) != std::string::npos; });
}

std::string one_shell_word(const std::string& text) {
  // '~' is not included: a shell would replace it by a home.
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      // Ends the quotes, inserts an escaped quote, and begins them again.
      result += "'\\''";
    } else {
      result += static_cast<unsigned char>(c) < ' ' ? '?' : c;  // no control bytes to a terminal
    }
  }
  return result + "'";
}

}  // namespace dtl
