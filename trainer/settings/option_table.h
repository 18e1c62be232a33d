#pragma once
// The options of dttrain: the one source of the parser, of --help, of argument files and of
// training_args.json; dttrain(1) is checked against it.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "trainer/settings/settings.h"

namespace dtl::trainer {

template <class T>
struct Number {
  T Settings::*member;
  T low, high;
};
struct Word {  // one of those that Option::value lists, with | between them
  std::string Settings::*member;
};
struct OptionalText {  // "true" where no value follows
  std::string Settings::*member;
};
struct Steps {  // a whole number, or a share of all steps below 1
  double Settings::*member;
};
struct Ignored {};  // run_glue's or run_qa's, which change nothing here
struct Refused {    // the help says why
  bool needs_value;
};

using Target = std::variant<bool Settings::*, std::string Settings::*, Word, OptionalText, Steps,
                            Number<int>, Number<std::int64_t>, Number<double>, Ignored, Refused>;

struct Option {
  const char* group;
  const char* name;
  const char* value;  // what it takes; empty for yes or no
  Target target;
  const char* help;
};

const std::vector<Option>& option_table();

// Options about the program itself; no file of options has them.
struct ProgramOption {
  std::vector<std::string> names;  // with dashes
  const char* value;
  const char* help;
};
const std::vector<ProgramOption>& program_options();

// Options of this group are second names of others.
constexpr const char* kOtherNames = "Other names";

// The option with this name, without dashes; nullptr where there is none.
const Option* find_option(const std::string& name);

bool is_flag(const Option& option);
// Options that stand for "true" without a value: flags, and those that also have other values.
bool needs_no_value(const Option& option);

// The nearest option to a word that is none, without dashes; empty where nothing is near.
std::string nearest_option(const std::string& word);

}  // namespace dtl::trainer
