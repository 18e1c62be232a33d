#pragma once
// A job from its command line to its exit status. Which command a line holds is decided before.

#include "launcher/options/command_line.h"

namespace dtl {

// Throws Error for what keeps the job from starting.
int run_job(const CommandLine& line);

}  // namespace dtl
