#pragma once
// The connect matrix: which node tries to connect to which, and which network follows from the
// results. A network is used only after the nodes have proved it: an address that looks right may
// be behind a firewall, or exist on every host (a bridge of containers). The session sends what is
// planned here and brings the answers; nothing here touches a socket. Pure.
//
// Nodes have numbers here: their places in the order of rank. Node 0 has rank 0, so every other
// node must reach it.

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
  // The node's facts, and what it has answered so far.
  std::string name;  // in the hostfile
  std::vector<Nic> nics;
  std::string reached_at;  // where its name leads; empty when unknown
  Listening listening;
  std::vector<Attempt> attempts;  // what it tried
  InterfaceFilter own = {};       // iface= of the host: in the place of --iface
};

// The nodes that node `from` tries. In a small job these are all others. In a job of more than
// kAllPairsNodes they are its neighbours in the ring and node 0, and node 0 tries all: all pairs of
// 1,000 nodes would be a million connections.
constexpr std::size_t kAllPairsNodes = 32;
std::vector<std::size_t> probe_targets(std::size_t from, std::size_t nodes);

// What each node is to try. Round 1 leaves out bridges inside a node, and stops waiting for silent
// addresses kProbeSettle after every node has answered somewhere. Round 2 tries everything that the
// filter allows, and waits until the deadline. It runs only where round 1 proved no network. Throws
// Error(kConfig) naming each node that has no address the filter allows.
std::vector<Reach> plan_probes(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter,
                               int round);

// After round 1: whether round 2 could prove more. False where it would only repeat what has
// failed.
bool may_prove_more(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter);

struct NetworkChoice {
  Network network;
  std::vector<std::string> reasons;  // for -v: what was chosen and why, what was not
};

// The best of the networks on which every tried pair was reached. First comes the one that the
// hostfile's names lead to, then one that is not a bridge inside a node, then the fastest, then
// IPv4. For a single node it is 127.0.0.1 on lo, or what the filter allows instead; Error(kConfig)
// where the filter allows nothing. nullopt: no network is proved.
std::optional<NetworkChoice> choose_network(const std::vector<ProbedNode>& nodes,
                                            const InterfaceFilter& filter);

// The error for a job without a network: kConfig, with every pair that failed, folded into lines.
Error no_network(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter);

}  // namespace dtl
