#pragma once
// The connect matrix: which node tries to connect to which, and the network that the results prove.
// Only a proved network is used: an address that looks right may be behind a firewall, or exist on
// every host (a container bridge). The session sends these plans and returns the answers; nothing
// here touches a socket. Pure.
//
// Node numbers here are positions in the order of rank. Node 0 has rank 0, so every other node must
// reach it.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "launcher/network/interface_filter.h"
#include "plan/job_plan.h"
#include "plan/pinning/topology.h"
#include "wire/messages.h"

namespace dtl {

struct ProbedNode {
  // The node's facts, and its answers so far.
  std::string name;  // in the hostfile
  std::vector<Nic> nics;
  std::string reached_at;  // where its name leads; empty: unknown
  Listening listening;
  std::vector<Attempt> attempts;  // what it tried
  InterfaceFilter own = {};       // iface= of the host: replaces --iface
};

// The nodes that node `from` tries: in a small job all others; with more than kAllPairsNodes, node
// 0 and those at a distance of 1, 2, 4, ... in the ring, both ways; with more than kPowersNodes,
// node 0 and both neighbours. The kernel's table of neighbours has 1,024 entries for all nodes that
// share the kernel, and each pair takes two: all pairs of 32 nodes would fill it, powers of two
// of 70.
constexpr std::size_t kAllPairsNodes = 16, kPowersNodes = 48;
std::vector<std::size_t> probe_targets(std::size_t from, std::size_t nodes);

// What each node must try. Round 1 leaves out bridges inside a node, and stops waiting for silent
// addresses kProbeSettle after every node has answered somewhere. Round 2 tries everything that the
// filter allows, and waits until the deadline. It runs only if round 1 proved no network. Throws
// Error(kConfig) naming each node without an address that the filter allows.
std::vector<Reach> plan_probes(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter,
                               int round);

// After round 1: whether round 2 could prove more. False where it would only repeat what has
// failed.
bool may_prove_more(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter);

struct NetworkChoice {
  Network network;
  std::vector<std::string> reasons;  // for -v: what was chosen and why, what was not
};

// The best of the networks on which every tried pair succeeded: first the one that the hostfile's
// names lead to, then one that is not a bridge inside a node, then the fastest, then IPv4. For a
// single node 127.0.0.1 on lo, or what the filter allows instead; Error(kConfig) if the filter
// allows nothing. nullopt: no network is proved.
std::optional<NetworkChoice> choose_network(const std::vector<ProbedNode>& nodes,
                                            const InterfaceFilter& filter);

// The error for a job without a network: kConfig, with every failed pair, folded into lines.
Error no_network(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter);

}  // namespace dtl
