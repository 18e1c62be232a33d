#pragma once
// The rows of the table of options, in one source file for each half of --help, because one file
// would exceed the limit on lines. launcher/options/options.h explains a row.

#include <initializer_list>
#include <vector>

#include "launcher/options/options.h"

namespace dtl {

using OptionRows = std::vector<OptionRow<BlockOptions>>;

// Joins the sections; their order is the order of --help.
OptionRows joined(std::initializer_list<OptionRows> sections);

// Where to run, what to run, how to pin it.
OptionRows start_rows();
// How to watch it, how it ends, about dtlaunch.
OptionRows run_rows();

}  // namespace dtl
