#pragma once
// dtlaunch up and down: dtlaunch-up(1).

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"

namespace dtl {

// The exit status. Throws Error.
int run_keep_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start);

}  // namespace dtl
