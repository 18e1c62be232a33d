#pragma once
// The options of dttrain. The parser, --help, argument files, training_args.json and completion all
// use this table; a test compares dttrain(1) with it.

#include "base/options/option_table.h"
#include "trainer/settings/settings.h"

namespace dtl::trainer {

const OptionTable<Settings>& option_table();

// The group of options about the program itself. Files of options do not contain them.
constexpr std::string_view kProgramOptions = "Other";

bool may_stand_in_file(const Option& option);

}  // namespace dtl::trainer
