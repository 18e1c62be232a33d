#pragma once
// dtlaunch push: copies the programs to hosts in advance, or removes them there. Prints one line
// for each host on standard output, errors on standard error. The exit status is that of the first
// failed host. launcher/agents/push.h does the push.

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"

namespace dtl {

// arguments: without the word "push". Throws Error(kUsage), Error(kBadInput) and Error(kConfig).
int run_push_command(const std::vector<std::string>& arguments, StartOptions start);

}  // namespace dtl
