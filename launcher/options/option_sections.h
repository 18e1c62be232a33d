#pragma once
// The rows of the table of options, in one source for each half of --help: one file for all would
// exceed the limit on lines. What a row means is in launcher/options/options.h.

#include <initializer_list>
#include <vector>

#include "launcher/options/options.h"

namespace dtl {

using OptionRows = std::vector<OptionRow<BlockOptions>>;

// The sections one after the other. Their order is the order of --help.
OptionRows joined(std::initializer_list<OptionRows> sections);

// Where to run, what to run, how to pin it.
OptionRows start_rows();
// How to watch it, how it ends, about dtlaunch.
OptionRows run_rows();

}  // namespace dtl
