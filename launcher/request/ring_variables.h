#pragma once
// Ring variables: what options of dtlaunch mean for ranks that use libdtring. The library reads its
// variables and knows no launcher; dtring(3) documents them. Pure.

#include "launcher/options/command_line.h"
#include "plan/request/request.h"

namespace dtl {

// Adds to what ranks inherit. A variable that the user has set there stays.
void add_ring_variables(Variables& inherited, const CommandLine& line);

}  // namespace dtl
