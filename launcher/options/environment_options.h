#pragma once
// What other launchers' variables say about a job: they stand for options that the command line
// does not have. Pure.

#include <functional>

#include "base/options/option_words.h"
#include "plan/request/request.h"

namespace dtl {

// Adds to the first program's options. A variable that a site sets for every job, and that asks for
// a way of starting that dtlaunch does not have, is left out with a warning; any other bad value is
// an Error(kUsage) that names the variable. `check` throws what is wrong with an option's value.
void add_environment(const Variables& environment, OptionWords& words,
                     const std::function<void(const OptionWords&)>& check);

}  // namespace dtl
