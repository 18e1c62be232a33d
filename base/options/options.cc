// Names and layout. The rules for spellings decide whether an mpirun command line works, so
// is_same_name() is the only place for them.
#include "base/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kWidth = 80;  // of --help: the width of a default terminal
constexpr std::size_t kGap = 2;     // the minimum between an option and its explanation

std::string with_dashes_inside(std::string_view word) {
  std::string name(word);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool is_same_name(std::string_view name, std::string_view spelled, Spelling spelling) {
  if (name == spelled) return true;
  if (spelling == Spelling::kExact) {
    return name.starts_with("--") && with_dashes_inside(name) == with_dashes_inside(spelled);
  }
  const std::string_view word = bare_name(spelled), bare = bare_name(name);
  if (bare == word) return true;
  // One letter keeps its case: -n and -N are different options.
  return word.size() > 1 && with_dashes_inside(to_lower(word)) == bare;
}

// Breaks text into lines of at most `width` bytes, at `separator`s. A longer piece gets a separate
// line.
std::string broken(std::string_view text, char separator, std::size_t width,
                   const std::string& line_end) {
  std::string all, line;
  const bool is_shown = separator != ' ';  // a space at the end of a line is invisible
  for (const std::string& piece : split(text, separator)) {
    if (line.empty()) {
      line = piece;
    } else if (line.size() + 1 + piece.size() + (is_shown ? 1U : 0U) <= width) {
      line += separator + piece;
    } else {
      all += line + (is_shown ? std::string(1, separator) : "") + line_end;
      line = piece;
    }
  }
  return all + line;
}

std::string option_lines(const Option& option, std::size_t column) {
  std::string left =
      "  " + join(std::vector<std::string>(option.names.begin(), option.names.end()), ", ");
  if (!option.value.empty()) left += fmt::format(" {}", option.value);
  if (left.size() > kWidth) left = broken(left, '|', kWidth - kGap, "\n      ");
  const std::string indent(column, ' ');
  if (option.help.empty()) return left + "\n";
  if (left.size() + kGap > column) {
    left += "\n" + indent;
  } else {
    left.resize(column, ' ');
  }
  const std::string line_end = "\n" + indent;
  std::vector<std::string> lines = split(option.help, '\n');
  for (std::string& line : lines) line = broken(line, ' ', kWidth - column, line_end);
  return left + join(lines, line_end) + "\n";
}

Follows follows_of(const Option& option) {
  if (option.traits.last) return Follows::kLastValue;
  switch (option.takes) {
    case Takes::kNothing:
      return Follows::kNothing;
    case Takes::kValue:
      // "--map-by A B": a space in the column means two words.
      return option.value.find(' ') == option.value.npos ? Follows::kValue : Follows::kTwoValues;
    case Takes::kWords:
      return Follows::kValue;
    case Takes::kPerhapsValue:
      return Follows::kPerhapsValue;
    case Takes::kPerhapsNumber:
      return Follows::kPerhapsNumber;
    case Takes::kVariable:
      return Follows::kNameAndValue;
  }
  return Follows::kNothing;
}

}  // namespace

std::string_view bare_name(std::string_view spelled) {
  const std::size_t first = spelled.find_first_not_of('-');
  return first == std::string_view::npos ? std::string_view{} : spelled.substr(first);
}

const Option* find_option(std::span<const Option> table, std::string_view spelled,
                          Spelling spelling) {
  for (const Option& option : table) {
    for (const std::string_view name : option.names) {
      if (is_same_name(name, spelled, spelling)) return &option;
    }
  }
  return nullptr;
}

// Compares without dashes, so that "-nmp" is near "-np". Returns the documented name.
std::string nearest_option(std::span<const Option> table, std::string_view spelled) {
  std::vector<std::string> bare, documented;
  for (const Option& option : table) {
    for (const std::string_view name : option.names) {
      bare.emplace_back(bare_name(name));
      documented.emplace_back(name);
    }
  }
  const std::string found = nearest(to_lower(bare_name(spelled)), bare);
  for (std::size_t i = 0; i < bare.size(); ++i) {
    if (!found.empty() && bare[i] == found) return documented[i];
  }
  return {};
}

bool is_number_word(const std::string& word) {
  constexpr std::string_view kFirst = "0123456789.", kUnits = "smhd";
  // "inf" and "nan" are names.
  if (word.empty() || kFirst.find(word[0]) == kFirst.npos) return false;
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  const std::string_view rest(end);
  return end != word.c_str() &&
         (rest.empty() || (rest.size() == 1 && kUnits.find(rest[0]) != kUnits.npos));
}

std::string options_text(std::span<const Option> table, const HelpLayout& layout) {
  std::string text;
  std::string_view group;
  for (const Option& option : table) {
    // The rows of a group are consecutive in the table.
    if (option.group != group) {
      group = option.group;
      text += fmt::format("\n{}{}\n", group, layout.heading);
    }
    text += option_lines(option, layout.column);
  }
  return text;
}

CompletedOption completed(const Option& option) {
  CompletedOption known;
  known.names.assign(option.names.begin(), option.names.end());
  known.help = option.help;
  std::replace(known.help.begin(), known.help.end(), '\n', ' ');
  known.offered = option.traits.offered;
  known.follows = follows_of(option);
  // Nothing completes a number.
  if (known.follows == Follows::kNothing || known.follows == Follows::kPerhapsNumber) return known;
  known.value = value_of_column(option.value.substr(0, option.value.find(' ')));
  // The value is a variable's name, whatever the column calls it.
  if (option.takes == Takes::kVariable) known.value.fill = Fill::kVariable;
  return known;
}

std::vector<CompletedOption> completed(std::span<const Option> table) {
  std::vector<CompletedOption> options;
  for (const Option& option : table) options.push_back(completed(option));
  return options;
}

}  // namespace dtl
