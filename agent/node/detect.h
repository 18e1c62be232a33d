#pragma once
// What this node is: the facts of Hello. Found before or while the launcher connects, so it has to
// be quick and to ask no program. The only file that includes hwloc is detect.cc.

#include <string>

#include "base/library.h"
#include "plan/pinning/topology.h"

namespace dtl {

// Throws Error(kOs) when the machine's topology cannot be read.
NodeFacts detect_node();

// The machine that hwloc's own description stands for: an XML file ("./machine.xml") or a synthetic
// one ("package:2 core:4 pu:2"). All of its CPUs are allowed. Throws Error(kOs).
NodeTopology topology_from(const std::string& description);

Library hwloc_library();  // for --version -v

}  // namespace dtl
