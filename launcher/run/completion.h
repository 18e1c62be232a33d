#pragma once
// Shell completion of dtlaunch and its subcommands, from the tables of options, our own and other
// launchers'. It also offers names of this machine: hosts of hostfiles and of ~/.ssh/config, ids of
// jobs. base/options/completion.h handles the shells.

#include "base/options/completion.h"

namespace dtl {

// The part that is the same on all machines.
Completion own_completion();

// The answer to `dtlaunch __complete WORD...`, which a shell's script calls at each TAB. Never
// fails for a bad file, and contacts no other host.
std::string own_completion_answer(const std::vector<std::string>& words);

}  // namespace dtl
