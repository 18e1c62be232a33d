#pragma once
// The command line of dtlaunch and its subcommands as shells complete it. It follows from the
// tables of options and of what other launchers call them. Beside these it offers names of this
// machine: hosts of hostfiles and of ~/.ssh/config, ids of jobs. base/options/completion.h knows
// the shells.

#include "base/options/completion.h"

namespace dtl {

// Everything that is the same on all machines.
Completion own_completion();

// The answer to `dtlaunch __complete WORD...`, which a shell's script asks at each TAB. It never
// fails for a bad file, and speaks to no other host.
std::string own_completion_answer(const std::vector<std::string>& words);

}  // namespace dtl
