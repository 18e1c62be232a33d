#pragma once
// Measures the links between hosts with a real job of one dtring-perf --links on each. It uses
// libdtring because training jobs get its speed. Blocks until that job ends.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/session/session.h"

namespace dtl {

struct Bandwidth {
  std::vector<Link> links;  // numbers are indexes of hosts
  std::string problem;      // why there are no links
  int interrupted = 0;      // the signal that ended it
};

// Throws only if the memory files cannot be made. Any failure of the job is in `problem`.
Bandwidth measure_bandwidth(Request request, const AgentStarter& start_agent,
                            const std::string& job_id);

}  // namespace dtl
