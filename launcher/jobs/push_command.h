#pragma once
// dtlaunch push: brings the programs to hosts ahead of time, or removes them there. One line for
// each host on standard output, errors on standard error. The status is that of the first host that
// failed. How a push works is in launcher/agents/push.h.

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"

namespace dtl {

// arguments: without the word "push". Throws Error(kUsage), Error(kBadInput) and Error(kConfig).
int run_push_command(const std::vector<std::string>& arguments, StartOptions start);

}  // namespace dtl
