#pragma once
// Detects the facts of Hello about this node. Runs before or while the launcher connects, so it
// must be quick and start no program. Only detect.cc includes hwloc.

#include <string>

#include "base/library.h"
#include "plan/pinning/topology.h"

namespace dtl {

// Throws Error(kOs) when the machine's topology cannot be read.
NodeFacts detect_node();

// The machine of a hwloc description: an XML file ("./machine.xml") or a synthetic one ("package:2
// core:4 pu:2"). All its CPUs are allowed. Throws Error(kOs).
NodeTopology topology_from(const std::string& description);

Library hwloc_library();  // for --version -v

}  // namespace dtl
