#pragma once
// The texts of `dttrain --help` and `--help-all`, made from the option table. --help fits on a
// screen. Neither ends with a newline. Pure.

#include <string>

#include "base/options/options.h"

namespace dtl::trainer {

// At most 45 lines: usage, common options, and where to find the rest.
std::string help_text();
// Whether it lists the option.
bool in_short_help(const Option& option);

// Every option that has an effect. dttrain(1) lists the transformers options that are ignored or
// refused.
std::string help_all_text();

// All rows, including options without effect, for the tests that compare the man page.
std::string all_rows_text();

}  // namespace dtl::trainer
