#pragma once
// NodeMap: which ranks share a node. Equal on every rank of a communicator except for `rank`, since
// rank 0 decides it (meeting/node_sharing.h); with different plans ranks would wait for each other
// forever.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace dtl::ring {

struct NodeMap {
  int rank = 0, world = 1;
  std::vector<int> node_of;             // of each rank
  std::vector<std::vector<int>> nodes;  // the ranks of each node, in order

  // Ranks with equal keys share a node; a rank with an empty key shares with nobody.
  static NodeMap from_keys(int rank, const std::vector<std::string>& keys);

  int node() const { return node_of[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& locals() const { return nodes[static_cast<std::size_t>(node())]; }
  bool is_local(int other) const { return node_of[static_cast<std::size_t>(other)] == node(); }
  bool has_several_per_node() const { return nodes.size() < node_of.size(); }
  // The ranks of each node that talk to other nodes: as many as the smallest node has, so that each
  // has a partner on every node.
  std::size_t rails() const;
};

}  // namespace dtl::ring
