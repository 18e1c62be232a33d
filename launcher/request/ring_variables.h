#pragma once
// Ring variables: what options of dtlaunch mean for ranks that use libdtring.

#include "launcher/options/command_line.h"
#include "plan/request/request.h"

namespace dtl {

// To what ranks inherit. What the user has set there stays.
void add_ring_variables(Variables& inherited, const CommandLine& line);

}  // namespace dtl
