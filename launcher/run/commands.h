#pragma once
// The commands of dtlaunch: which one a command line holds, and what it does. A job is one of them
// (launcher/run/run_job.h).

#include <string>
#include <vector>

namespace dtl {

// arguments: without argv[0]. The exit status. Throws Error.
int run_command(std::vector<std::string> arguments);

}  // namespace dtl
