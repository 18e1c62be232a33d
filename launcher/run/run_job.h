#pragma once
// A job from its command line to its exit status. Which command a line holds is decided before.
// Here the parts of a job are made and put together; each of them is a room of its own.

#include "launcher/options/command_line.h"

namespace dtl {

// Returns dtlaunch's exit status. Throws Error for what keeps the job from starting; whatever comes
// later is an outcome, told on a card.
int run_job(const CommandLine& line);

}  // namespace dtl
