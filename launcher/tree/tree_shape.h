#pragma once
// TreeShape: which agents of a tree dtlaunch talks to directly, and through which other agent it
// talks to each of the rest. Pure. Places are 0 to count-1, in the order of the hosts.
//
// The first `width` places are tops, which dtlaunch talks to directly. Each agent has up to `width`
// children. A parent's place is always lower than its children's, and so is its depth. An agent may
// also connect to a place above its parent, but never to a deeper one, so there are no cycles.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

class TreeShape {
 public:
  // width must be at least 1.
  TreeShape(std::size_t count, std::size_t width) : count_(count), width_(width) {}

  std::size_t count() const { return count_; }
  std::size_t tops() const { return count_ < width_ ? count_ : width_; }
  bool is_top(std::size_t place) const { return place < width_; }
  std::size_t parent(std::size_t place) const { return place / width_ - 1; }  // not of a top
  std::size_t depth(std::size_t place) const;                                 // of a top: 1
  std::size_t depth() const { return count_ == 0 ? 0 : depth(count_ - 1); }   // of the deepest
  // Whether other agents may connect to it: tops, and agents with children.
  bool relays(std::size_t place) const { return is_top(place) || (place + 1) * width_ < count_; }
  // Where an agent connects to, in this order: its parent, the parent's parent and so on, then two
  // tops that are not among these. Empty for a top.
  std::vector<std::size_t> candidates(std::size_t place) const;

  // "tree of agents: 4 direct, 60 behind others, depth 3".
  std::string text() const;

 private:
  std::size_t count_, width_;
};

// The shape for this many hosts that are reached over ssh; nullopt: dtlaunch talks to all of them
// directly. asked: --tree, 0 for no tree; absent: kTreeWidth with more than kFlatHosts.
std::optional<TreeShape> tree_shape(std::size_t hosts, std::optional<int> asked);

}  // namespace dtl
