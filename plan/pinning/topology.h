#pragma once
// The facts of a node: the agent collects them, Hello sends them, the plan and the choice of
// network use them. Plain values without hwloc, so that tests can plan for invented machines.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/pinning/cpu_set.h"

namespace dtl {

struct Core {
  int package = 0;        // hwloc logical index of the socket
  int numa = 0;           // hwloc logical index of the NUMA node
  std::vector<int> cpus;  // OS numbers of its hardware threads, ascending
  // Cores with the same number share the cache; numbers are unique in the node. If the node does
  // not report caches, each core has separate cache1 and cache2, and each NUMA node a separate
  // cache3.
  int cache1 = 0, cache2 = 0, cache3 = 0;
  int kind = 0;  // 0: the fastest cores of the node; 1 and up: slower ones (E-cores)
};

struct NumaNode {
  int os_index = 0;  // the kernel's number; Core::numa is an index into this list
  std::uint64_t memory_bytes = 0;
};

struct NodeTopology {
  std::vector<Core> cores;  // in hwloc's logical order: neighbours share caches and NUMA nodes
  CpuSet allowed;           // affinity of the agent within its cpuset: pins never leave it
  double quota_cpus = 0;    // cgroup CPU quota in CPUs (cpu.max, cfs_quota/cfs_period); 0 = none
  std::uint64_t memory_bytes = 0;
  std::vector<NumaNode> numa_nodes;  // in hwloc's logical order; empty: unknown
};

// The source of a rank's memory pages, among its domain's NUMA nodes.
enum class MemoryPolicy : std::uint8_t {
  kDefault,     // on the node whose thread touches a page first
  kPreferred,   // from these nodes while they have free pages
  kBind,        // from these nodes only
  kInterleave,  // from these nodes in turn
};

// A network interface. The list includes those that are down or lead nowhere; launcher/network
// judges them.
struct Nic {
  std::string name;  // "eth0"
  bool up = false;
  bool loopback = false;
  std::vector<std::string> addresses;           // numeric, IPv4 and IPv6, without prefix length
  std::vector<std::uint32_t> prefix_bits = {};  // of each address
  bool inside = false;           // a bridge without a physical port, as used by containers
  std::uint32_t speed_mbps = 0;  // of the link; 0: unknown
  std::uint32_t mtu = 0;         // bytes; 0: unknown
  int numa = -1;                 // the NUMA node it is attached to, as Core::numa; -1: unknown
};

// What another job has of a node. Its agent holds the claim, and the kernel ends it with the agent.
// Or what the node keeps for a job that waits.
struct CoreClaim {
  std::string job_id;         // as that job says; anybody may say anything
  std::uint32_t user_id = 0;  // as the kernel says
  std::string user;           // the name of user_id on the node; empty: it has none
  std::uint64_t age_s = 0;    // how long ago it was claimed
  CpuSet cpus;                // of whole cores, within the CPUs allowed to its agent
  bool shared = false;        // it runs there (--oversubscribe), and leaves them to others
  bool waits = false;         // nobody has them; they are kept for this job, which waits in line
  std::uint64_t left_s = 0;   // it ends within this time at the latest; 0: it has no limit
};

struct NodeFacts {
  std::string hostname;           // the node's own hostname
  std::string machine_id;         // equal only for names of the same machine; empty: unknown
  std::string boot_id;            // changes at each boot
  std::string agent_version;      // "0.1.0"
  std::string reached_at;         // its address in the ssh connection; empty without one
  std::uint32_t descriptors = 0;  // that its agent may open at once; 0: unknown
  NodeTopology topology;
  std::vector<Nic> nics;
  std::vector<std::string> accelerators;  // device files of GPUs and the like: "/dev/nvidia0"
  std::vector<CoreClaim> claims = {};     // of other jobs, the oldest first
};

}  // namespace dtl
