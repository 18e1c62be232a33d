#pragma once
// Ring variables: dtlaunch's options for ranks that use libdtring. The library reads its variables
// and knows no launcher; dtring(3) documents them. Pure.

#include "launcher/options/command_line.h"
#include "plan/request/request.h"

namespace dtl {

// Adds to what ranks inherit. Does not replace a variable that the user has set.
void add_ring_variables(Variables& inherited, const CommandLine& line);

}  // namespace dtl
