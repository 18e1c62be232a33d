#pragma once
// The connect matrix and its answer: who tries whom, and at which address of each node the others
// have proved that they reach it. Pure.
//
// Nodes have numbers here: their places in the order of rank, 0 being the node of rank 0.

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
  std::string name;  // in the hostfile
  std::vector<Nic> nics;
  std::string reached_at;  // where its name leads; empty when unknown
  Listening listening;
  std::vector<Attempt> attempts;  // what it tried
  InterfaceFilter own = {};       // iface= of the host: in the place of --iface
};

// The nodes that node `from` tries: every other one of a small job; of a large one (more than
// kAllPairsNodes) its neighbours in the ring and node 0, which tries all.
constexpr std::size_t kAllPairsNodes = 32;
std::vector<std::size_t> probe_targets(std::size_t from, std::size_t nodes);

// What each node shall try. Round 1 leaves out bridges that lead nowhere and does not wait long for
// the last; round 2 tries everything that the filter allows, with all patience. Throws
// Error(kConfig) naming each node that has no address the filter allows.
std::vector<Reach> plan_probes(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter,
                               int round);

// After round 1: whether round 2 would try an address that was not tried, or wait longer for one.
bool may_prove_more(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter);

struct NetworkChoice {
  Network network;
  std::vector<std::string> reasons;  // for -v: what was chosen and why, what was not
};

// Of the networks on which every tried pair was reached, the one that the hostfile's names lead
// to; then one that is no bridge inside a node; then the fastest; then IPv4. One node alone:
// 127.0.0.1 on lo, or what the filter allows instead; throws Error(kConfig) where that is nothing.
// Empty when there is none.
std::optional<NetworkChoice> choose_network(const std::vector<ProbedNode>& nodes,
                                            const InterfaceFilter& filter);

// Every pair that failed, folded, with kConfig.
Error no_network(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter);

}  // namespace dtl
