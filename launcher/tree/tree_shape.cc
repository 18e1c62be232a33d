// The children of place p are (p + 1) * width to (p + 2) * width - 1, as in a heap whose root is
// dtlaunch.
#include "launcher/tree/tree_shape.h"

#include <fmt/format.h>

#include "plan/request/tree_width.h"

namespace dtl {
namespace {

constexpr std::size_t kOtherTops = 2;  // candidates, in case an agent's own top is lost

}  // namespace

std::size_t TreeShape::depth(std::size_t place) const {
  std::size_t depth = 1;
  for (; !is_top(place); place = parent(place)) ++depth;
  return depth;
}

std::vector<std::size_t> TreeShape::candidates(std::size_t place) const {
  std::vector<std::size_t> found;
  if (is_top(place)) return found;
  while (!is_top(place)) {
    place = parent(place);
    found.push_back(place);
  }
  for (std::size_t i = 1; i <= kOtherTops && i < tops(); ++i) {
    found.push_back((place + i) % tops());
  }
  return found;
}

std::string TreeShape::text() const {
  return fmt::format("tree of agents: {} direct, {} behind others, depth {}", tops(),
                     count_ - tops(), depth());
}

std::optional<TreeShape> tree_shape(std::size_t hosts, std::optional<int> asked) {
  if (!asked && hosts <= kFlatHosts) return std::nullopt;
  const auto width = static_cast<std::size_t>(asked.value_or(kTreeWidth));
  if (width == 0 || hosts <= width) return std::nullopt;
  return TreeShape(hosts, width);
}

}  // namespace dtl
