#pragma once
// The links between hosts, measured by a job of one dtring-perf --links on each. Blocks.

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

Bandwidth measure_bandwidth(Request request, const AgentStarter& start_agent,
                            const std::string& job_id);

}  // namespace dtl
