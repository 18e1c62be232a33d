#pragma once
// Measures the links between hosts with a real job of one dtring-perf --links on each. It uses
// libdtring because training jobs get its speed. Blocks until that job ends.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/options/surroundings.h"
#include "launcher/session/session.h"

namespace dtl {

struct Bandwidth {
  std::vector<Link> links;  // numbers are indexes of hosts
  std::string problem;      // why there are no links
  int interrupted = 0;      // the signal that ended it
};

// One rank on each host: dtring-perf measures hosts and not ranks. The PATH begins with dtlaunch's
// own folder, because dtring-perf lies there and need not be on the user's PATH. "/" exists
// everywhere.
Request links_request(const std::vector<Host>& hosts, const Surroundings& around,
                      const std::string& interface);

// Throws only if the memory files cannot be made. Any failure of the job is in `problem`.
Bandwidth measure_bandwidth(Request request, const AgentStarter& start_agent,
                            const std::string& job_id);

}  // namespace dtl
