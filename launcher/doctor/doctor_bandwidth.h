#pragma once
// The links between hosts, measured by a real job of one dtring-perf --links on each. The
// measurement uses libdtring because its speed is what a training job gets. Blocks until that job
// ends.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/session/session.h"

namespace dtl {

struct Bandwidth {
  std::vector<Link> links;  // numbers are places among the hosts
  std::string problem;      // why there are none
  int interrupted = 0;      // the signal that ended it
};

// Throws only if the memory files cannot be made. Any failure of the job is in `problem`.
Bandwidth measure_bandwidth(Request request, const AgentStarter& start_agent,
                            const std::string& job_id);

}  // namespace dtl
