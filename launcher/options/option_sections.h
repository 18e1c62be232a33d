#pragma once
// The rows of the table of options, by the sections of --help. What rows mean is
// launcher/options/options.h.

#include <initializer_list>
#include <vector>

#include "launcher/options/options.h"

namespace dtl {

using OptionRows = std::vector<OptionRow<BlockOptions>>;

// In their order.
OptionRows joined(std::initializer_list<OptionRows> sections);

// Where to run, what to run, how to pin it.
OptionRows start_rows();
// How to watch it, how it ends, about dtlaunch.
OptionRows run_rows();

}  // namespace dtl
