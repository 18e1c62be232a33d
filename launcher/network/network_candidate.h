#pragma once
// Candidate: one way to connect a job's nodes: an address for each node, and its probe results.
// Internal to network*.cc, which choose among candidates and explain failed ones. Pure.

#include <string>
#include <vector>

#include "launcher/network/network.h"

namespace dtl {

// iface= of a host replaces --iface there; the two are not combined.
inline const InterfaceFilter& filter_of(const ProbedNode& node, const InterfaceFilter& all) {
  return node.own.empty() ? all : node.own;
}

// A pair of nodes, and why `from` does not reach `to`: an error of connect(2) or a rule of ours.
struct FailedPair {
  std::size_t from = 0, to = 0;
  std::string problem;
};

struct Candidate {
  std::vector<NodeNetwork> nodes;  // address and interface; an empty address: none
  std::string subnet;              // of node 0's address
  bool one_subnet = true;          // all addresses lie in it
  bool inside = false;             // some interface is a bridge that leads nowhere
  std::size_t named = 0;           // nodes whose names lead to their address
  std::uint32_t speed_mbps = 0;    // of the slowest link, in Mbit/s; 0: one is unknown
  bool v6 = false;
  std::size_t pairs = 0;             // that must be tried
  std::vector<FailedPair> failures;  // empty: proved
  bool complete() const;             // every node has an address
  bool proved() const { return complete() && failures.empty(); }
};

// One for each address of node 0 that the filter allows, preferred ones first. Node 0 anchors them
// because all others must reach it.
std::vector<Candidate> candidates(const std::vector<ProbedNode>& nodes,
                                  const InterfaceFilter& filter);

// "10.77.0.0/16 (eth0 on 4 nodes)"
std::string describe(const Candidate& candidate, const std::vector<ProbedNode>& nodes);

// What failed, folded: one line for a group of pairs, "n2, n3 cannot reach n4 at 10.0.0.4:
// Connection refused". A message about 1,000 nodes has to stay readable.
std::vector<std::string> fold_failures(const Candidate& candidate,
                                       const std::vector<ProbedNode>& nodes);

// "eth0 10.0.0.1, ib0 192.168.9.1"
std::string interfaces_text(const std::vector<Nic>& nics);

}  // namespace dtl
