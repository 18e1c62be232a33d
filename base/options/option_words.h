#pragma once
// Parses the words of a command line by a table of options. It knows the syntax of options;
// option_table.h knows the meaning of a value and where it goes. Pure.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/options/options.h"

namespace dtl {

struct GivenOption {
  const Option* option = nullptr;
  std::string value;         // empty for Takes::kNothing; "NAME=VALUE" for Takes::kVariable
  std::string spelled = {};  // as typed, or the key of a file, for messages; empty: not typed
  std::string place = {};    // "job.toml:3" for one of a file
  std::string typed = {};    // the whole, for messages: "-np 3x", "--bind-to=foo"
  bool value_apart = false;  // of Takes::kVariable: "NAME VALUE", two words
};

// The beginning of a message about it: "-np 3x", "job.toml:3: ranks = 0". Without `typed`, the
// canonical form.
std::string typed_form(const GivenOption& given);
std::vector<TypedOption> typed_options(std::span<const GivenOption> options);

struct OptionWords {
  std::vector<GivenOption> options;  // in order
  std::vector<std::string> rest;     // words that are not options
  std::vector<std::string> notes;    // accepted options without effect here, with the reason

  std::vector<std::string> foreign = {};  // options of other launchers that were accepted, as typed
  std::vector<std::string> warnings = {};  // requests that cannot be met, for all users to see

  // `canonical` is the last name in the option's row.
  bool has(std::string_view canonical) const;
};

// "--np=4", the form that all spellings of an option are converted to.
std::string canonical_form(const GivenOption& given);

class OptionReader;

// How a program reads its command line.
struct Manner {
  std::string_view help;     // the command to try after a mistake, "dtlaunch --help"
  HelpCommand help_of = {};  // for a mistake with a known option; empty: `help`
  Spelling spelling = Spelling::kExact;
  bool options_first = false;  // the first word that is not an option ends the options
  bool last_wins = false;      // of a repeated option; otherwise that is an error
  bool true_or_false =
      false;             // "--do_train True" and "--do_train=no", as Hugging Face's parser does it
  bool letters = false;  // getopt's: -b8 and -vh; --min for --minbytes
  bool empty_values = false;  // an empty word is a value too
  // Handles a word with a dash that is not an option; without a handler that is an error.
  // `attached`: the text after '='; nullptr: none.
  std::function<void(OptionReader&, const std::string& spelled, const char* attached)> unknown = {};
};

// "-name value", "-name=value", "-n4" in mpirun's spelling; "--" ends the options. If a value is
// the name of an option, the value counts as missing. Throws Error(kUsage).
OptionWords read_option_words(std::span<const Option> table,
                              const std::vector<std::string>& arguments, const Manner& manner);

// The operations for Manner::unknown.
class OptionReader {
 public:
  OptionReader(std::span<const Option> table, const std::vector<std::string>& words,
               const Manner& manner)
      : table_(table), words_(words), manner_(manner) {}

  OptionWords read();

  // Reads `word` as if it were here, with its value from the words that follow.
  void take(const std::string& word);
  // Consumes the next word. Throws Error(kUsage) if there is none.
  const std::string& next_word(std::string_view spelled, std::string_view value_name);
  bool is_option_next() const;
  [[noreturn]] void refuse_unknown(std::string_view spelled) const;
  OptionWords& so_far() { return read_; }

 private:
  void take_known(const Option& option, const std::string& spelled, const char* attached,
                  const std::string& word);
  bool take_verbose(std::string_view word);
  bool take_letters(const std::string& word);
  bool take_number(const std::string& word);
  const std::string& next_value(std::string_view spelled, std::string_view value_name);
  const Option* find(const std::string& spelled) const;
  std::string value_of(const Option& option, const std::string& spelled, const char* attached);
  std::string flag_value(const std::string& spelled, const char* attached);
  std::string next_words(std::string_view spelled, std::string_view value_name);
  std::string variable(std::string_view spelled, const std::string& first);
  void refuse_repeated() const;

  std::span<const Option> table_;
  const std::vector<std::string>& words_;
  const Manner& manner_;
  std::size_t at_ = 0;
  OptionWords read_;
};

}  // namespace dtl
