// Guesses columns that the user did not name, from names and cells only. Reads no file and prints
// nothing; dataset_summary.h reports the guess.
#include "trainer/data/column_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "base/text.h"

namespace dtl::trainer {
namespace {

// Column names of Hugging Face's GLUE data sets, and the usual name for a text column.
ColumnChoice choose_by_name(const std::vector<std::string>& header) {
  const int first = column_named(header, "sentence1");
  if (first >= 0) return {first, column_named(header, "sentence2")};
  for (const char* name : {"sentence", "text"}) {
    if (const int text = column_named(header, name); text >= 0) return {text, -1};
  }
  return {};
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// A byte of a multi-byte character. Most of these are letters.
bool is_wide(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();  // also 1e5, nan and inf
}

// What all values of a column have in common.
class ColumnValues {
 public:
  void add(std::string_view value) {
    any_ = true;
    value = trim(value);
    const bool letters =
        std::any_of(value.begin(), value.end(), [](char c) { return is_letter(c) || is_wide(c); });
    // Dates and amounts have digits and marks but no letters. nan and inf have letters but are
    // numbers.
    numbers_ = numbers_ && (!letters || is_number(value));
    // Chinese and similar scripts have no blanks: one "word" may be a sentence.
    const bool several = value.find_first_of(" \t\n") != std::string_view::npos ||
                         std::any_of(value.begin(), value.end(), is_wide);
    words_ = words_ || several;
    // One duplicate or non-identifier decides the column; then stop storing values.
    identifiers_ = identifiers_ && !several && std::any_of(value.begin(), value.end(), is_digit) &&
                   seen_.insert(value).second;
  }
  bool numbers() const { return any_ && numbers_; }  // or dates, or empty
  // One word with a digit, different in each row.
  bool identifiers() const { return identifiers_ && seen_.size() > 1; }
  bool words() const { return words_; }  // several words, or a script without blanks

 private:
  bool any_ = false, numbers_ = true, identifiers_ = true, words_ = false;
  std::unordered_set<std::string_view> seen_;
};

// Why a column cannot hold texts; empty if it can.
std::string refusal(const std::string& name, const ColumnValues& values) {
  const std::string lowered = to_lower(trim(name));
  if (lowered.empty() || lowered.starts_with("unnamed: ")) {
    return lowered.empty() ? "a column has no name" : fmt::format("'{}' is not a name", name);
  }
  if (lowered == "idx" || lowered == "index" || lowered == "id") {
    return fmt::format("'{}' is the number of a row", name);
  }
  if (values.numbers()) {
    return fmt::format("'{}' holds only numbers, dates or empty cells", name);
  }
  if (values.identifiers())
    return fmt::format("'{}' holds a different identifier in each row", name);
  return {};
}

// Usual names for a column of labels, besides "label".
bool is_usual_label(const std::string& name) {
  constexpr std::array<std::string_view, 10> kNames = {"labels", "class",  "category", "target",
                                                       "y",      "rating", "score",    "sentiment",
                                                       "stars",  "intent"};
  const std::string lowered = to_lower(trim(name));
  return std::find(kNames.begin(), kNames.end(), lowered) != kNames.end();
}

}  // namespace

int column_named(const std::vector<std::string>& header, std::string_view name) {
  // Try exact names first, then names without surrounding blanks, then without case. A name that
  // matches several columns matches none.
  const auto find = [&](auto&& same) {
    int found = -1, times = 0;
    for (int i = 0; i < static_cast<int>(header.size()); ++i) {
      if (same(header[static_cast<std::size_t>(i)]) && times++ == 0) found = i;
    }
    return times == 1 ? found : -1;
  };
  int found = find([&](const std::string& each) { return each == name; });
  if (found < 0) found = find([&](const std::string& each) { return trim(each) == trim(name); });
  if (found >= 0) return found;
  return find(
      [&](const std::string& each) { return to_lower(trim(each)) == to_lower(trim(name)); });
}

std::string shown_column(const std::vector<std::string>& header, std::size_t index) {
  return header[index].empty() ? fmt::format("column {} (no name)", index + 1) : header[index];
}

std::string shown_columns(const std::vector<std::string>& header) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < header.size(); ++i) names.push_back(shown_column(header, i));
  return join(names, ", ");
}

std::string without_column(const std::vector<std::string>& header, std::string_view name) {
  return fmt::format("the columns are {}; none is called '{}'", shown_columns(header), name);
}

int guess_label(const std::vector<std::string>& header,
                std::span<const std::vector<std::string>> rows) {
  int best = -1;
  std::size_t fewest = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::unordered_set<std::string_view> different;
    std::size_t values = 0;
    for (const std::vector<std::string>& row : rows) {
      if (i >= row.size() || trim(row[i]).empty()) continue;
      different.insert(row[i]);
      ++values;
    }
    // The first row contains values, so the file has no header.
    if (different.contains(header[i])) return -1;
    if (is_usual_label(header[i])) return static_cast<int>(i);
    // Values that occur less than twice on average are texts or row numbers.
    if (header[i].empty() || different.size() < 2 || different.size() * 2 > values) continue;
    if (best >= 0 && different.size() >= fewest) continue;
    best = static_cast<int>(i);
    fewest = different.size();
  }
  return best;
}

bool looks_like_row(const std::vector<std::string>& header,
                    std::span<const std::vector<std::string>> rows) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    // Names have few words.
    const auto blanks = std::count(header[i].begin(), header[i].end(), ' ');
    if (blanks >= 3) return true;
    if (blanks > 0 && header[i].find_last_of(".!?") == header[i].size() - 1) return true;
    if (header[i].empty()) continue;
    for (const std::vector<std::string>& row : rows) {
      if (i < row.size() && row[i] == header[i]) return true;
    }
  }
  return false;
}

bool needs_rows(const std::vector<std::string>& header) {
  return choose_by_name(header).first < 0;
}

ColumnChoice choose_texts(const std::vector<std::string>& header, int label,
                          std::span<const std::vector<std::string>> rows) {
  if (!needs_rows(header)) return choose_by_name(header);
  std::vector<int> possible, with_words;
  std::vector<std::string> reasons;
  for (int i = 0; i < static_cast<int>(header.size()); ++i) {
    if (i == label) continue;
    const auto at = static_cast<std::size_t>(i);
    ColumnValues values;
    for (const std::vector<std::string>& row : rows) {
      if (at < row.size()) values.add(row[at]);
    }
    const std::string reason = refusal(header[at], values);
    if (!reason.empty()) {
      reasons.push_back(reason);
      continue;
    }
    possible.push_back(i);
    if (values.words()) with_words.push_back(i);
  }
  // Single words are categories if another column has sentences.
  if (!with_words.empty()) possible = with_words;
  if (possible.empty()) {
    return {.reason = reasons.empty() ? "the label is the only column" : join(reasons, ", "),
            .label_alone = reasons.empty()};
  }
  return {possible[0], possible.size() > 1 ? possible[1] : -1};
}

}  // namespace dtl::trainer
