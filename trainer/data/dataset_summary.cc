// Notices for the user, not errors: data that looks wrong may be right.
#include "trainer/data/dataset_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/dataset_rows.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

constexpr std::size_t kMostShown = 10;  // labels per line; the rest is only counted

struct Occurrence {
  std::int64_t rows = 0;
  const TextExample* first = nullptr;
};
// Sorted by label, so that messages do not depend on hashing.
using Occurrences = std::map<std::string, Occurrence>;  // by label

void count(Occurrence& occurrence, const TextExample& example) {
  if (occurrence.rows++ == 0) occurrence.first = &example;
}

// An example that has a label twice has it once.
std::set<std::string> unique_labels(const TextExample& example) {
  return {example.labels.begin(), example.labels.end()};
}

Occurrences count_labels(const TextDataset& dataset) {
  Occurrences labels;
  for (const TextExample& example : dataset.examples) {
    if (dataset.problem != Problem::kMultiLabel) count(labels[example.label], example);
    for (const std::string& label : unique_labels(example)) count(labels[label], example);
  }
  return labels;
}

std::string line_of(const TextExample& example) {
  if (example.element > 0) return fmt::format("element {}", example.element);
  return fmt::format("line {}", example.line);
}

// "'Yes' (12, first in line 3)"
std::string shown(const std::string& label, const Occurrence& occurrence) {
  return fmt::format("'{}' ({}, first in {})", printable(label), occurrence.rows,
                     line_of(*occurrence.first));
}

std::string shortened(std::vector<std::string> pieces) {
  if (pieces.size() <= kMostShown) return join(pieces, ", ");
  const std::size_t more = pieces.size() - kMostShown;
  pieces.resize(kMostShown);
  return fmt::format("{} and {} more", join(pieces, ", "), more);
}

std::string shown_label(const std::string& label) {
  // Quotes make empty labels and surrounding blanks visible.
  const std::string_view quote = label.empty() || trim(label) != label ? "'" : "";
  return fmt::format("{0}{1}{0}", quote, printable(label));
}

// In order of frequency.
std::string class_counts(const TextDataset& dataset) {
  const Occurrences labels = count_labels(dataset);
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const auto& [label, occurrence] : labels) counts.emplace_back(label, occurrence.rows);
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> pieces;
  for (const auto& [label, rows] : counts) {
    pieces.push_back(fmt::format("{}: {}", shown_label(label), rows));
  }
  return shortened(std::move(pieces));
}

// read_dataset() refuses data sets without rows.
std::string target_range(const TextDataset& dataset) {
  const auto [low, high] = std::minmax_element(
      dataset.examples.begin(), dataset.examples.end(),
      [](const TextExample& a, const TextExample& b) { return a.target < b.target; });
  return fmt::format("{:g} to {:g}", low->target, high->target);
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The same text for labels that look alike: "Yes", " yes" and "YES"; "1", "1.0" and "01".
std::string plain_label(const std::string& label) {
  std::u32string lowered;
  bool blank = false;
  for (const char32_t c : code_points(label)) {
    if (is_white_space(c)) {
      blank = !lowered.empty();
      continue;
    }
    if (blank) lowered += U' ';
    blank = false;
    append_lower(lowered, c);
  }
  std::string plain;
  for (const char32_t c : lowered) append_utf8(plain, c);
  const std::optional<double> value = number(plain);
  return value ? fmt::format("{}", *value) : plain;
}

// What pandas and spreadsheets write for an empty cell. Only a notice: "none" may be a class.
bool stands_for_nothing(const std::string& plain) {
  constexpr std::array<std::string_view, 6> kNames = {"nan", "null", "none", "n/a", "na", "<na>"};
  return std::find(kNames.begin(), kNames.end(), plain) != kNames.end();
}

void doubt_spellings(const Occurrences& labels, const std::string& path,
                     std::vector<std::string>& said) {
  std::map<std::string, std::vector<std::string>> spellings;
  for (const auto& [label, occurrence] : labels) {
    spellings[plain_label(label)].push_back(shown(label, occurrence));
  }
  for (auto& [plain, each] : spellings) {
    if (each.size() < 2) continue;
    said.push_back(
        fmt::format("{}: labels that differ only in case, blanks or the way a number "
                    "is written count as different: {}",
                    path, shortened(std::move(each))));
  }
}

void doubt_missing_values(const Occurrences& labels, const std::string& path,
                          std::vector<std::string>& said) {
  std::vector<std::string> missing;
  for (const auto& [label, occurrence] : labels) {
    if (stands_for_nothing(plain_label(label))) missing.push_back(shown(label, occurrence));
  }
  if (missing.empty()) return;
  said.push_back(fmt::format("{}: a label that may mean a missing value counts as a label: {}",
                             path, shortened(std::move(missing))));
}

// Finds a word among number labels, or a number among words.
void doubt_mixed_types(const Occurrences& labels, const std::string& path,
                       std::vector<std::string>& said) {
  std::vector<std::string> numbers, words;
  for (const auto& [label, occurrence] : labels) {
    const std::string plain = plain_label(label);
    if (stands_for_nothing(plain)) continue;
    (number(plain) ? numbers : words).push_back(shown(label, occurrence));
  }
  if (numbers.empty() || words.empty()) return;
  said.push_back(fmt::format("{}: some labels are numbers and some are words: {}; {}", path,
                             shortened(std::move(numbers)), shortened(std::move(words))));
}

// Finds texts or row numbers in the label column.
void doubt_number_of_labels(const TextDataset& dataset, const Occurrences& labels,
                            std::vector<std::string>& said) {
  const auto examples = static_cast<std::int64_t>(dataset.examples.size());
  const auto different = static_cast<std::int64_t>(labels.size());
  // With more than half as many labels as examples, labels are hardly learnable.
  if (dataset.problem != Problem::kSingleLabel || labels.size() <= kMostShown ||
      different <= examples / 2) {
    return;
  }
  said.push_back(fmt::format("{}: {} have {} different labels: does the column '{}' hold labels?",
                             dataset.path, plural(examples, "example"), different,
                             dataset.columns.label));
}

void doubt_repeated_labels(const TextDataset& dataset, std::vector<std::string>& said) {
  Occurrence repeated;
  for (const TextExample& example : dataset.examples) {
    if (unique_labels(example).size() < example.labels.size()) count(repeated, example);
  }
  if (repeated.rows == 0) return;
  said.push_back(
      fmt::format("{}: a label that is twice in one example counts once: {}, the first "
                  "in {}",
                  dataset.path, plural(repeated.rows, "example"), line_of(*repeated.first)));
}

void doubt_texts(const TextDataset& dataset, std::vector<std::string>& said) {
  Occurrence empty;
  for (const TextExample& example : dataset.examples) {
    const bool lacks_second = dataset.pairs && trim(example.second).empty();
    if (trim(example.first).empty() || lacks_second) count(empty, example);
  }
  if (empty.rows == 0) return;
  said.push_back(fmt::format("{}: {} without a text, the first in {}", dataset.path,
                             plural(empty.rows, "example"), line_of(*empty.first)));
}

// The command that puts names in front.
std::string first_line(const TextDataset& dataset) {
  const std::size_t others = dataset.unread.size() + (dataset.pairs ? 1 : 0);
  if (others > 0 || dataset.labelled) return "head -n 3 " + one_shell_word(dataset.path);
  return add_names(dataset.path, {"sentence"});
}

// Blank lines and names that are texts make other numbers of the texts than the user counts.
void doubt_lines(const TextDataset& dataset, std::vector<std::string>& said) {
  const BlankLines& blank = dataset.blank_lines;
  if (!dataset.labelled && blank.count > 0) {
    said.push_back(fmt::format("{}: no prediction for {}, the first of them line {}", dataset.path,
                               plural(blank.count, "blank line"), blank.first));
  }
  if (!dataset.guessed) return;
  for (const std::string& name : dataset.columns.first) {
    const auto blanks = std::count(name.begin(), name.end(), ' ');
    // Column names have few words.
    if (blanks < 3 && !(blanks > 0 && name.find_last_of(".!?") == name.size() - 1)) continue;
    said.push_back(fmt::format(
        "{}: line {} is read as the names of the columns, so '{}' is not one of the texts. Try: {}",
        dataset.path, dataset.header_line, printable(name), first_line(dataset)));
  }
}

}  // namespace

void check_labels(const TextDataset& dataset) {
  if (dataset.problem == Problem::kRegression) return;
  const std::vector<std::string> labels = label_names(dataset);
  if (labels.size() >= 2) return;
  throw Error(
      Exit::kBadInput, fmt::format("{}: cannot classify", dataset.path),
      fmt::format("the column '{}' needs two labels or more, and holds {}: {}",
                  dataset.columns.label, plural(static_cast<std::int64_t>(labels.size()), "label"),
                  labels.empty() ? "none" : shown_labels(labels)),
      // A column without a name cannot be named.
      dataset.unread.empty() || dataset.unread.front().ends_with(" (no name)")
          ? "head -n 3 " + one_shell_word(dataset.path)
          : "--label_column_name " + one_shell_word(dataset.unread.front()));
}

std::string float_labels_notice(const std::string& path) {
  return fmt::format(
      "{}: the labels are written with fractions, so the model learns to predict a number; classes "
      "are "
      "written as 0 and 1, not 0.0 and 1.0",
      path);
}

std::string shown_labels(const std::vector<std::string>& labels) {
  std::vector<std::string> shown;
  for (const std::string& label : labels) shown.push_back(shown_label(label));
  return shortened(std::move(shown));
}

std::string summary(const TextDataset& dataset) {
  const TextColumns& columns = dataset.columns;
  std::string text =
      fmt::format("{}: {}; text: {}", dataset.path,
                  plural(static_cast<std::int64_t>(dataset.examples.size()), "example"),
                  join(columns.first, " + "));
  if (dataset.pairs) text += fmt::format(", second text: {}", columns.second);
  // Mention a guess only if another choice was possible.
  if (dataset.guessed && (dataset.pairs || !dataset.unread.empty())) {
    text += " (guessed; --text_column_names NAME[,NAME] makes one text of others)";
  }
  if (dataset.labelled) {
    text += fmt::format(
        "; label: {} ({})", columns.label,
        dataset.problem == Problem::kRegression ? target_range(dataset) : class_counts(dataset));
  }
  if (!dataset.unread.empty()) text += fmt::format("; not read: {}", shortened(dataset.unread));
  return text;
}

std::vector<std::string> doubts(const TextDataset& dataset) {
  std::vector<std::string> said;
  if (dataset.labelled && dataset.problem != Problem::kRegression) {
    const Occurrences labels = count_labels(dataset);
    doubt_spellings(labels, dataset.path, said);
    doubt_missing_values(labels, dataset.path, said);
    doubt_mixed_types(labels, dataset.path, said);
    doubt_number_of_labels(dataset, labels, said);
    doubt_repeated_labels(dataset, said);
  }
  doubt_texts(dataset, said);
  doubt_lines(dataset, said);
  return said;
}

}  // namespace dtl::trainer
