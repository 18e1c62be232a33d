#pragma once
// Branches: which branch of each node is the newest one, and by which top it goes. Relays are
// trusted to pass parcels on and with nothing else, so whatever they say about a branch that is not
// known is dropped. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtl {

struct BranchWay {
  int top = 0;               // the node whose agent passes its parcels on to dtlaunch
  std::uint32_t stream = 0;  // see Parcel
  bool operator==(const BranchWay&) const = default;
};

class Branches {
 public:
  explicit Branches(std::size_t nodes) : nodes_(nodes) {}

  // A branch begins. False if it is not newer than all before it; it is not used then.
  bool arrive(std::size_t node, const BranchWay& way);
  // Whether parcels of this branch count.
  bool is_current(std::size_t node, const BranchWay& way) const;
  // The branch is over. False if it was not the current one.
  bool leave(std::size_t node, const BranchWay& way);
  // A top is lost. Returns the nodes whose branches end with it.
  std::vector<std::size_t> lose_top(int top);
  std::optional<BranchWay> way(std::size_t node) const;

 private:
  struct Node {
    std::uint32_t newest = 0;  // streams begin with 1
    std::optional<BranchWay> way;
  };
  std::vector<Node> nodes_;
};

}  // namespace dtl
