#pragma once
// The objects of a node that pins are made of (cores, caches, sockets ...) as sets of CPUs, and the
// orders in which ranks can be given them. What a user asked for is not known here: pin_domains.cc
// chooses. Pure.

#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/pin_request.h"
#include "plan/pinning/topology.h"

namespace dtl {

// Each object's allowed CPUs, in the topology's order; objects without any are left out, so an
// empty list means that no CPU is allowed. A node that cannot name its cores has single CPUs for
// cores, and is one cache, socket and so on.
std::vector<CpuSet> objects_of(const NodeTopology& topology, PinObject object);

// `count` of the units for as many ranks, in this order; with too few they are given again from the
// first one on. Bunch and spread look at `count`, the others do not.
std::vector<CpuSet> arrange(const NodeTopology& topology, const std::vector<CpuSet>& units,
                            PinOrder order, std::size_t count);

// All allowed CPUs one by one: core after core (compact), in the kernel's order (platform), or so
// that neighbours in the list share as little as they can (scatter).
std::vector<int> cpus_in_layout(const NodeTopology& topology, PinLayout layout);

}  // namespace dtl
