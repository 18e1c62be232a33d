#pragma once
// What is wrong with a node's pins, found before harm is done: cores that nobody uses, ranks far
// from their network interface, libraries that were told other CPUs. Pure.

#include <string>
#include <vector>

#include "plan/job_plan.h"
#include "plan/pinning/topology.h"

namespace dtl {

// asked: the user said how to pin, so that what is left idle may be a mistake. Without the host's
// name, and none twice.
std::vector<std::string> pin_warnings(const NodePlan& node, const NodeFacts& facts, bool asked);

// The physical cores that the CPUs are a part of; CPUs of which the node cannot name the core count
// as one each.
int cores_of(const NodeTopology& topology, const CpuSet& cpus);

// The NUMA node that the interface is attached to, as Core::numa; -1: not known.
int numa_of_interface(const NodeFacts& facts, const std::string& interface);

}  // namespace dtl
