#pragma once
// Options from the variables of Hydra, Intel MPI and Open MPI. Each variable stands for an option
// that the command line does not set, so a job script for another launcher runs unchanged.
// foreign_options.cc has the table of variables. Pure.

#include <functional>

#include "base/options/option_words.h"
#include "plan/request/request.h"

namespace dtl {

// Adds to the first program's options. A variable that a site sets for every job is left out with a
// warning if it asks for a way of starting that dtlaunch lacks. Any other bad value is an
// Error(kUsage) that names the variable. `check` throws if an option's value is bad.
void add_environment(const Variables& environment, OptionWords& words,
                     const std::function<void(const OptionWords&)>& check);

}  // namespace dtl
