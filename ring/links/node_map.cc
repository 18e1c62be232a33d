// Nodes are numbered by their lowest rank, so all ranks use the same numbers.
#include "ring/links/node_map.h"

namespace dtl::ring {

NodeMap NodeMap::from_keys(int rank, const std::vector<std::string>& keys) {
  NodeMap map;
  map.rank = rank;
  map.world = static_cast<int>(keys.size());
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto at = keys[i].empty() ? seen.end() : std::find(seen.begin(), seen.end(), keys[i]);
    const auto node = static_cast<std::size_t>(at - seen.begin());
    if (at == seen.end()) {
      seen.push_back(keys[i]);
      map.nodes.emplace_back();
    }
    map.nodes[node].push_back(static_cast<int>(i));
    map.node_of.push_back(static_cast<int>(node));
  }
  return map;
}

std::size_t NodeMap::rails() const {
  std::size_t least = nodes[0].size();
  for (const auto& node : nodes) least = std::min(least, node.size());
  return least;
}

}  // namespace dtl::ring
