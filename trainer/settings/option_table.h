#pragma once
// The options of dttrain: the one source of the parser, of --help, of argument files, of
// training_args.json and of completion; dttrain(1) is checked against it.

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

const OptionTable<Settings>& option_table();

// The group of the options about the program itself, which no file of options has.
constexpr std::string_view kProgramOptions = "Other";

bool may_stand_in_file(const Option& option);

}  // namespace dtl::trainer
