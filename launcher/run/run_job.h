#pragma once
// Runs a job from its command line to its exit status. Creates the parts of a job, each from its
// own room, and connects them.

#include "launcher/options/command_line.h"

namespace dtl {

// Returns dtlaunch's exit status. Throws Error for what keeps the job from starting; later failures
// are outcomes with a card.
int run_job(const CommandLine& line);

}  // namespace dtl
