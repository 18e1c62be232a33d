#pragma once
// Finds what is wrong with a node's pins before it does harm: cores that nobody uses, ranks far
// from their network interface, libraries that were told other CPUs. Its findings are warnings;
// what cannot work at all is an Error of pin_domains.h or pinning.h. Pure.

#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "plan/pinning/topology.h"

namespace dtl {

// asked: the user said how to pin, so idle cores may be a mistake. The default division leaves some
// idle on purpose. The texts are without the host's name, so that equal ones can be folded, and
// none comes twice.
std::vector<std::string> pin_warnings(const NodePlan& node, const NodeFacts& facts, bool asked);

// The physical cores that the CPUs are a part of; CPUs of which the node cannot name the core count
// as one each.
int cores_of(const NodeTopology& topology, const CpuSet& cpus);

// The NUMA node that the interface is attached to, as Core::numa; -1: not known.
int numa_of_interface(const NodeFacts& facts, const std::string& interface);

}  // namespace dtl
