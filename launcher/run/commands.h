#pragma once
// The commands of dtlaunch: which one a command line holds, and what it does. A job is one of them
// (launcher/run/run_job.h). Every room of the launcher meets here, and main.cc knows this file
// alone.

#include <string>
#include <vector>

namespace dtl {

// Runs the command and returns dtlaunch's exit status. arguments: without argv[0]. Throws Error;
// main() prints it.
int run_command(std::vector<std::string> arguments);

}  // namespace dtl
