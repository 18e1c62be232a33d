#pragma once
// The command line of dtlaunch and its subcommands as shells complete it, made of their tables of
// options and of what other launchers call them; and what is offered there of this machine: hosts
// of hostfiles and of ~/.ssh/config, ids of jobs.

#include "base/options/completion.h"

namespace dtl {

Completion own_completion();

// The answer to `dtlaunch __complete WORD...`.
std::string own_completion_answer(const std::vector<std::string>& words);

}  // namespace dtl
