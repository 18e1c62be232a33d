#pragma once
// Machines that exist only in tests.

#include "plan/pinning/topology.h"

namespace dtl {

// `numa` NUMA nodes with `cores` cores each. With two threads per core, core i has the CPUs i and i
// + the number of all cores, as on most Linux servers.
inline NodeTopology invented_topology(int numa, int cores, int threads_per_core = 1) {
  NodeTopology topology;
  const int total = numa * cores;
  for (int i = 0; i < total; ++i) {
    Core core;
    core.package = core.numa = i / cores;
    for (int t = 0; t < threads_per_core; ++t) core.cpus.push_back(i + t * total);
    for (const int cpu : core.cpus) topology.allowed.add(cpu);
    topology.cores.push_back(core);
  }
  return topology;
}

inline NodeFacts invented_node(int numa, int cores, int threads_per_core = 1) {
  NodeFacts facts;
  facts.hostname = "invented";
  facts.topology = invented_topology(numa, cores, threads_per_core);
  return facts;
}

}  // namespace dtl
