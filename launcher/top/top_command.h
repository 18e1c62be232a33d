#pragma once
// dtlaunch top [JOB]: the live view of jobs, dtlaunch-top(1). It runs dtagent --watch on each host,
// here or over ssh, and needs nothing of the jobs' launchers and agents.

#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "plan/request/request.h"

namespace dtl {

// arguments: those after "top"; environment: for DTL_COLOR. Returns the exit status. Throws Error,
// also for a wrong command line.
int run_top_command(const std::vector<std::string>& arguments, const Variables& environment,
                    const StartOptions& start);

}  // namespace dtl
