#pragma once
// For each local rank: its CPUs, threads, cores for communication and source of memory. Either as
// requested (pin_domains.h), or by dividing the physical cores of the node's budget evenly
// (core_division.cc). One node at a time; job_plan.cc loops over the nodes. Pure.

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
  int cores = 0;          // physical cores with any CPU in the domain
  std::vector<int> comm;  // CPUs kept for communication: one of each core first, then siblings
  std::vector<int> numa;  // Core::numa of the domain's cores, ascending
  MemoryPolicy memory = MemoryPolicy::kDefault;
  std::vector<int> memory_nodes;  // the kernel's numbers of the NUMA nodes for `memory`
};

// Physical cores usable on the node: those with at least one allowed CPU, at most ceil(quota).
// Never less than 1.
int budget_cores(const NodeTopology& topology);

// One domain per local rank: one CPU of each of its cores, so that no two threads share a core.
// Disjoint if there are enough cores; sizes differ by at most one core, larger ones first; a domain
// straddles NUMA nodes only if it must. The first `comm_cores` cores of each share are excluded
// from the domain. Slower cores (E-cores) are left out if the others suffice. With more ranks than
// cores (--oversubscribe), ranks share cores round-robin, one CPU each, siblings before the same
// CPU again.
std::vector<Domain> divide_cores(const NodeTopology& topology, int local_size, int comm_cores = 0);

struct PinSettings {
  PinRequest request;
  std::optional<int> comm_cores;    // --comm-cores; absent: worker_cores if a rank has them
  std::optional<int> worker_cores;  // CCL_WORKER_COUNT; absent: 1 if a rank has kCommFrom cores
  int threads = 0;                  // the user's OMP_NUM_THREADS; 0: not set
};

constexpr int kMaxCommCores = 1024;

// With this many cores per rank, a core reserved for communication pays off.
constexpr int kCommFrom = 8;

struct NodePins {
  std::vector<Domain> domains;        // by local rank
  std::vector<std::string> warnings;  // without the hostname
  std::vector<std::string> notes;     // the same, for -v
};

// Throws Error(kConfig) that names the host.
NodePins pin_node(const PinSettings& settings, const NodeTopology& topology, int local_size,
                  const std::string& host);

}  // namespace dtl
