#pragma once
// The commands of dtlaunch: finds the one that a command line holds, and runs it. A job is one of
// them (launcher/run/run_job.h). This folder combines all rooms of the launcher; main.cc includes
// only this file.

#include <string>
#include <vector>

#include "launcher/options/foreign_program.h"

namespace dtl {

// Runs the command and returns dtlaunch's exit status. arguments: without argv[0], which `called`
// is. Throws Error; main() prints it.
int run_command(std::vector<std::string> arguments, CalledAs called);

}  // namespace dtl
