#include "launcher/tree/branches.h"

namespace dtl {

bool Branches::arrive(std::size_t node, const BranchWay& way) {
  if (node >= nodes_.size() || way.stream <= nodes_[node].newest) return false;
  nodes_[node] = {way.stream, way};
  return true;
}

bool Branches::is_current(std::size_t node, const BranchWay& way) const {
  return node < nodes_.size() && nodes_[node].way == way;
}

bool Branches::leave(std::size_t node, const BranchWay& way) {
  if (!is_current(node, way)) return false;
  nodes_[node].way.reset();
  return true;
}

std::vector<std::size_t> Branches::lose_top(int top) {
  std::vector<std::size_t> ended;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    std::optional<BranchWay>& way = nodes_[node].way;
    if (!way || way->top != top) continue;
    way.reset();
    ended.push_back(node);
  }
  return ended;
}

std::optional<BranchWay> Branches::way(std::size_t node) const {
  return node < nodes_.size() ? nodes_[node].way : std::nullopt;
}

}  // namespace dtl
