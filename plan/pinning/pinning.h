#pragma once
// Which CPUs each local rank gets, how many threads, which cores communicate for it and where its
// memory comes from: what was asked for (pin_domains.h), or the physical cores of the node's budget
// divided evenly (core_division.cc). One node at a time; job_plan.cc goes through the nodes. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plan/pinning/cpu_set.h"
#include "plan/pinning/pin_request.h"
#include "plan/pinning/topology.h"

namespace dtl {

struct Domain {
  CpuSet cpus;            // where the rank's threads may run; empty: not pinned
  int threads = 1;        // physical cores of the domain, limited by the quota; OMP_NUM_THREADS
  int cores = 0;          // physical cores that the domain has a part of
  std::vector<int> comm;  // CPUs kept for communication: one of each core first, then siblings
  std::vector<int> numa;  // Core::numa of the domain's cores, ascending
  MemoryPolicy memory = MemoryPolicy::kDefault;
  std::vector<int> memory_nodes;  // what the kernel calls the NUMA nodes that `memory` is about
};

// Physical cores usable on the node: those with at least one allowed CPU, at most ceil(quota).
// Never less than 1.
int budget_cores(const NodeTopology& topology);

// One domain per local rank: one CPU of each of its cores, so that no two threads share a core.
// Disjoint as long as there are cores enough; sizes differ by at most one core, larger ones first;
// a domain does not straddle NUMA nodes unless it must. The first `comm_cores` cores of each share
// are kept out of the domain. Slower cores (E-cores) are left out where the others suffice. With
// more ranks than cores (--oversubscribe), ranks share cores round-robin, one CPU each, siblings
// before the same CPU again.
std::vector<Domain> divide_cores(const NodeTopology& topology, int local_size, int comm_cores = 0);

struct PinSettings {
  PinRequest request;
  std::optional<int> comm_cores;    // --comm-cores; absent: worker_cores where a rank has them
  std::optional<int> worker_cores;  // CCL_WORKER_COUNT; absent: 1 where a rank has kCommFrom cores
  int threads = 0;                  // OMP_NUM_THREADS that the user set; 0: not set
};

constexpr int kMaxCommCores = 1024;

// Cores per rank from which on a core of its own for communication pays off.
constexpr int kCommFrom = 8;

struct NodePins {
  std::vector<Domain> domains;        // by local rank
  std::vector<std::string> warnings;  // without the host's name
  std::vector<std::string> notes;     // the same, for -v
};

// Throws Error(kConfig) that names the host.
NodePins pin_node(const PinSettings& settings, const NodeTopology& topology, int local_size,
                  const std::string& host);

}  // namespace dtl
