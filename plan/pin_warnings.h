#pragma once
// Warns about harmful pins of a node: idle cores, ranks far from their network interface, libraries
// that were told to use other CPUs. Impossible pins are Errors in pin_domains.h or pinning.h. Pure.

#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "plan/pinning/topology.h"

namespace dtl {

// asked: the user chose the pins, so idle cores may be a mistake. The default division leaves some
// idle on purpose. The texts omit the hostname, so that equal ones can be grouped, and contain no
// duplicates.
std::vector<std::string> pin_warnings(const NodePlan& node, const NodeFacts& facts, bool asked);

// The number of physical cores with any of the CPUs; CPUs whose core is unknown count as one each.
int cores_of(const NodeTopology& topology, const CpuSet& cpus);

// The NUMA node that the interface is attached to, as Core::numa; -1: not known.
int numa_of_interface(const NodeFacts& facts, const std::string& interface);

}  // namespace dtl
