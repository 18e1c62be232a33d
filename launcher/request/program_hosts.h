#pragma once
// -host of each of several programs, as in Intel MPI's and Open MPI's `-host a -n 2 x : -host b y`:
// each program's ranks go to its own hosts. This becomes a map of ranks, so that the plan needs
// only one way to place them. Pure.

#include "launcher/options/command_line.h"
#include "plan/request/request.h"

namespace dtl {

// Sets hosts, the map of ranks and each program's ranks. Does nothing if no program has hosts. A
// host without slots takes one rank at a time. Throws Error(kUsage).
void place_programs(const CommandLine& line, Request& request);

}  // namespace dtl
