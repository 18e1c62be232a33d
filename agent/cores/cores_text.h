#pragma once
// dtagent --cores: who has which cores of this node, as lines of text for `dtlaunch ps --cores`,
// which launcher/jobs/cores_view.h reads. Pure.

#include <string>
#include <vector>

#include "plan/pinning/topology.h"

namespace dtl {

// What jobs of all users have: "cpus", "cores", "free-cpus" and "free-cores" of the node, then for
// each claim "job", "user", "age", "shared", "cpus" and "cores". An empty line ends each part. Ends
// with the line "end".
std::string cores_text(const NodeTopology& topology, const std::vector<CoreClaim>& claims);

}  // namespace dtl
