#pragma once
// Options from the variables of Hydra, Intel MPI and Open MPI. Each variable stands for an option
// that the command line does not set, so a job script for another launcher runs unchanged.
// Pure.

#include <functional>
#include <span>
#include <string_view>

#include "base/options/option_words.h"
#include "plan/request/request.h"

namespace dtl {

// A variable that another launcher reads, and our option that it stands for. The command line
// overrides it.
struct ForeignVariable {
  std::string_view name;
  std::string_view option;  // "-hostfile=%"; "--wait[=%]": "1" and other words for yes are no value
  bool of_site = false;     // sites set it for every job; warn if dtlaunch cannot do it
};

std::span<const ForeignVariable> foreign_variables();

// Adds to the first program's options. A variable that a site sets for every job is left out with a
// warning if it asks for a way of starting that dtlaunch lacks. Any other bad value is an
// Error(kUsage) that names the variable. `check` throws if an option's value is bad.
void add_environment(const Variables& environment, OptionWords& words,
                     const std::function<void(const OptionWords&)>& check);

}  // namespace dtl
