#pragma once
// The objects of a node that pins refer to (cores, caches, sockets ...) as sets of CPUs, and the
// orders in which ranks get them. pin_domains.cc applies the user's request. Pure.

#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/pin_request.h"
#include "plan/pinning/topology.h"

namespace dtl {

// Each object's allowed CPUs, in the topology's order. Omits objects without allowed CPUs, so an
// empty list means that no CPU is allowed. On a node that does not know its cores, each CPU counts
// as a core, and all CPUs as one cache, socket and so on.
std::vector<CpuSet> objects_of(const NodeTopology& topology, PinObject object);

// Chooses `count` of the units, one per rank, in this order; if there are too few, starts again at
// the first. Only bunch and spread depend on `count`.
std::vector<CpuSet> arrange(const NodeTopology& topology, const std::vector<CpuSet>& units,
                            PinOrder order, std::size_t count);

// All allowed CPUs, one by one: core after core (compact), in the kernel's order (platform), or so
// that neighbours in the list share as little as possible (scatter).
std::vector<int> cpus_in_layout(const NodeTopology& topology, PinLayout layout);

}  // namespace dtl
