#pragma once
// Which CPUs each local rank gets: the physical cores of the node's budget divided evenly. Pure.

#include <vector>

#include "plan/cpu_set.h"
#include "plan/topology.h"

namespace dtl {

struct Domain {
  CpuSet cpus;      // where the rank's threads may run: all hardware threads of its cores
  int threads = 1;  // physical cores of the domain, limited by the quota; OMP_NUM_THREADS
};

// Physical cores usable on the node: those with at least one allowed CPU, at most ceil(quota).
int budget_cores(const NodeTopology& topology);

// One domain per local rank, disjoint as long as there are cores enough; sizes differ by at most
// one core, larger ones first; a domain does not straddle NUMA nodes unless it must. With more
// ranks than cores
// (--oversubscribe), ranks share cores round-robin, one core each.
std::vector<Domain> divide_cores(const NodeTopology& topology, int local_size);

}  // namespace dtl
