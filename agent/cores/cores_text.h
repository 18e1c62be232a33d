#pragma once
// dtagent --cores: who has which cores of this node, as lines of text for `dtlaunch ps --cores`,
// which launcher/jobs/cores_view.h reads. Pure.

#include <string>
#include <vector>

#include "plan/line/waiting_line.h"
#include "plan/pinning/topology.h"

namespace dtl {

// What jobs of all users have: "cpus", "cores", "free-cpus" and "free-cores" of the node, then for
// each claim "job", "user", "age", "shared", "cpus", "cores" and "left" (CoreClaim::left_s). Then,
// for each ticket, "ticket" (the job), "user", "age", "arrival", "wants", "wants-cpus", "runs" and
// "kept": how many free cores are kept for it. An empty line ends each part. Ends with the line
// "end". tickets: in the order of the line.
std::string cores_text(const NodeTopology& topology, const std::vector<CoreClaim>& claims,
                       const std::vector<Ticket>& tickets = {});

}  // namespace dtl
