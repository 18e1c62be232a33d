#pragma once
// What this node is: the facts of Hello. The only file that includes hwloc is detect.cc.

#include "plan/topology.h"

namespace dtl {

// Throws Error(kOs) when the machine's topology cannot be read.
NodeFacts detect_node();

}  // namespace dtl
