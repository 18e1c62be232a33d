#pragma once
// What variables of Hydra, Intel MPI and Open MPI say about a job. Each stands for an option that
// the command line does not have. So a job script that was written for another launcher runs
// unchanged. Which variables there are is the table in foreign_options.cc. Pure.

#include <functional>

#include "base/options/option_words.h"
#include "plan/request/request.h"

namespace dtl {

// Adds to the first program's options. A site sets some variables for every job; where one asks for
// a way of starting that dtlaunch does not have, it is left out with a warning. Any other bad value
// is an Error(kUsage) that names the variable. `check` throws what is wrong with an option's value.
void add_environment(const Variables& environment, OptionWords& words,
                     const std::function<void(const OptionWords&)>& check);

}  // namespace dtl
