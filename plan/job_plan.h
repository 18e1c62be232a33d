#pragma once
// JobPlan: everything that will happen, as one value, computed once by pure functions from a
// Request and the nodes' facts: the same inputs give the same plan. --dry-run prints it and stops
// here. All mistakes that are detectable are Errors here, before anything has started. Agents
// execute their part and decide nothing.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/environment.h"
#include "plan/pinning/cpu_set.h"
#include "plan/pinning/topology.h"
#include "plan/placement.h"
#include "plan/request/request.h"

namespace dtl {

// The plan for one rank. Start messages send all of it to its node.
struct RankPlan {
  int rank = 0;
  int local_rank = 0;
  CpuSet cpus;            // for its threads; empty: not pinned
  std::vector<int> comm;  // CPUs kept for communication
  std::vector<int> numa;  // the NUMA nodes of its CPUs, as Core::numa; empty when not pinned
  MemoryPolicy memory = MemoryPolicy::kDefault;
  std::vector<int> memory_nodes;  // the kernel's numbers of the NUMA nodes for `memory`
  int threads = 1;
  int program = 0;  // index into Request::programs
  std::string working_directory;
  std::uint32_t umask = 022;
  std::vector<std::string> arguments;     // argv, argv[0] as typed
  std::vector<std::string> environment;   // "NAME=value", complete and final
  std::map<std::string, Origin> origins;  // of variables that may be computed
};

// The part of a node that a job may use.
struct NodeHardware {
  int cores = 0, cpus = 0, sockets = 0, numa_nodes = 0;
  std::uint64_t memory_bytes = 0;
};

// One agent and its ranks. If a scheduler started a task for each rank, each task is a NodePlan;
// several of them may be on one machine and share its local ranks.
struct NodePlan {
  int host = 0;             // index into Request::hosts (0 for the local machine)
  std::string host_name;    // as typed; "localhost" for the local machine
  std::string address;      // other nodes proved that they reach it; "127.0.0.1" for one-node jobs
  std::string interface;    // of that address, "lo" for one-node jobs
  int interface_numa = -1;  // the NUMA node it is attached to, as Core::numa; -1: not known
  NodeHardware hardware;
  std::vector<RankPlan> ranks;
};

struct JobPlan {
  std::string job_id;
  int world_size = 0;
  std::string master_address;  // nodes[0].address; never loopback for a job on several nodes
  int master_port = 0;         // free on nodes[0], outside the ephemeral range
  std::vector<NodePlan> nodes;
  std::vector<std::string> warnings;  // e.g. more threads than cores
  std::vector<std::string> notes;     // for -v: the pins of each node, and why
};

// The results of the nodes' connection test, for the nodes that the placement uses, in that order.
// master_port: was free on the first of them.
struct NodeNetwork {
  std::string address;
  std::string interface;
};

struct Network {
  std::vector<NodeNetwork> nodes;
  int master_port = 0;
};

// facts[i] belongs to request.hosts[i]; network.nodes[k] to the k-th host that has a rank, in order
// of rank. places: from place_ranks(), for at least one rank. Throws Error(kConfig, kUsage), and
// kOs if a node may open too few descriptors.
JobPlan make_job_plan(const Request& request, const std::vector<NodeFacts>& facts,
                      const std::vector<RankPlace>& places, const Network& network,
                      const std::string& job_id);

// The table of --dry-run, at most `columns` wide; fewer than 60 count as 60. Values that look
// secret are masked.
std::string to_table(const JobPlan& plan, int columns);

}  // namespace dtl
