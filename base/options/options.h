#pragma once
// The options of a program as one table. A row says everything about an option: --help, the parser,
// files of options, completion and suggestions for mistyped names derive from it, so they cannot
// differ. base/options/option_table.h makes the rows and stores values in the program's own struct.
// Pure.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/completion.h"

namespace dtl {

enum class Takes {
  kNothing,
  kValue,
  kPerhapsValue,   // unless the next word is an option
  kPerhapsNumber,  // "=VALUE", or the next word if it is a number
  kWords,          // one word and all that follow up to an option, joined as "a,b"
  kVariable,       // two words "K V", or one "K=V"
};

enum class Scope { kJob, kProgram };  // kProgram: also allowed after a ':'

// How a value is written in a TOML file; an option without a value is true or false there.
enum class FileValue {
  kText,
  kInteger,
  kFlagOrInteger,  // true, or 600
  kRange,          // 4, or "2:4"
  kList,           // ["a", "b"] for "a,b"
  kPath,           // relative to the file's folder
};

// Traits that only some options have.
struct OptionTraits {
  std::string_view key = {};             // in the job file: "pinning.bind_to"
  FileValue in_file = FileValue::kText;  // of the key
  bool repeatable = false;               // each occurrence counts
  Scope scope = Scope::kJob;
  bool last = false;    // the words after its value belong to the program
  bool offered = true;  // completion proposes it
};

struct Option {
  std::string_view group;               // heading in --help and in the man page
  std::vector<std::string_view> names;  // as documented, with dashes; the last one is canonical
  std::string_view value;               // the value's name in --help, "FILE"
  std::string_view help;                // one or more lines, separated by '\n'
  Takes takes = Takes::kNothing;
  OptionTraits traits = {};
};

// The command whose text shows an option's row, for a hint. A program with one page of options has
// one for all.
using HelpCommand = std::function<std::string(const Option&)>;

// The name without its dashes.
std::string_view bare_name(std::string_view spelled);

// The accepted spellings.
enum class Spelling {
  kExact,   // as documented, except "-" for "_" within a word
  kMpirun,  // one dash or two, any case in words of more than one letter, and "-" for "_"
};

// The option that `spelled` names; nullptr if there is none.
const Option* find_option(std::span<const Option> table, std::string_view spelled,
                          Spelling spelling = Spelling::kMpirun);

// The documented spelling nearest to a mistyped one; empty if none is near.
std::string nearest_option(std::span<const Option> table, std::string_view spelled);

// Whether the word is the value of a Takes::kPerhapsNumber: "600", "1.5", and "10m" as a mistake
// that the option can explain.
bool is_number_word(const std::string& word);

struct HelpLayout {
  std::size_t column = 24;        // column where explanations start
  std::string_view heading = "";  // after each group's name; groups without a name have no heading
};

// The lines of --help for a table, at most 80 columns wide.
std::string options_text(std::span<const Option> table, const HelpLayout& layout = {});

// For completion: the row, with the words and fills of value_of_column().
CompletedOption completed(const Option& option);
std::vector<CompletedOption> completed(std::span<const Option> table);

}  // namespace dtl
