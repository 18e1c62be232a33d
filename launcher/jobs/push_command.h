#pragma once
// dtlaunch push: the programs brought to hosts ahead of time, or removed there. One line for each
// host on standard output, errors on standard error; the status is that of the first failed host.

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"

namespace dtl {

// arguments: without the word "push". Throws Error(kUsage), Error(kBadInput) and Error(kConfig).
int run_push_command(const std::vector<std::string>& arguments, StartOptions start);

}  // namespace dtl
