#pragma once
// The words of a command line against a table of options, in mpirun's manner: one dash or two, any
// case, `-opt value` and `-opt=value`, and everything from the first word that is no option on is
// left alone. Pure.

#include <span>
#include <string>
#include <vector>

#include "launcher/options/options.h"

namespace dtl {

struct GivenOption {
  const Option* option = nullptr;
  std::string value;         // empty for Takes::kNothing; "NAME=VALUE" for Takes::kVariable
  std::string spelled = {};  // as typed, for messages; empty: not typed
};

struct OptionWords {
  std::vector<GivenOption> options;  // in order
  std::vector<std::string> rest;     // the first word that is no option, and all after it
  std::vector<std::string> notes;    // what was accepted and means nothing here, with the reason

  std::vector<std::string> warnings = {};  // what could not be had, for everybody to see

  bool has(std::string_view canonical) const { return find(canonical) != nullptr; }
  // The last value given, or empty; `canonical` is the last name of the table's row.
  std::string value(std::string_view canonical) const;

 private:
  const GivenOption* find(std::string_view canonical) const;
};

// "--np=4", the one form that every spelling of an option is turned into.
std::string canonical_form(const GivenOption& given);

enum class Foreign { kUnknown, kUnderstood };

// Throws Error(kUsage); `help` is the command to try then, "dtlaunch --help". With kUnderstood,
// other launchers' spellings are taken for ours or refused with the reason: foreign_options.h.
OptionWords read_option_words(std::span<const Option> table,
                              const std::vector<std::string>& arguments, std::string_view help,
                              Foreign foreign = Foreign::kUnknown);

}  // namespace dtl
