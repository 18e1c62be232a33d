// Only the root writes to the caller's out; others use scratch memory for their sums.
#include "ring/operation/reduce_plan.h"

#include <algorithm>

#include "ring/operation/halving_plan.h"

namespace dtl::ring {
namespace {

Group group_for(Way way, const NodeMap& map, int root) {
  if (way == Way::kDirect) return everybody(map);
  Group group = by_node(map);
  // A tree grows from its root.
  if (way == Way::kTree) {
    std::rotate(group.begin(), std::find(group.begin(), group.end(), root), group.end());
  }
  return group;
}

std::size_t place_of(int rank, const Group& group) {
  return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
}

}  // namespace

ReducePlan::ReducePlan(const Operation& operation, const NodeMap& map, FlowPlan& flows,
                       GroupPlan& groups, Arena& scratch)
    : operation_(operation),
      flows_(flows),
      groups_(groups),
      scratch_(scratch),
      group_(group_for(operation.choice().way, map, operation.request().root)),
      me_(groups.place_in(group_)),
      root_(place_of(operation.request().root, group_)) {}

void ReducePlan::plan() {
  switch (operation_.choice().way) {
    case Way::kTree:
      return sum_along_tree();
    case Way::kHalving:
      return sum_by_halving();
    default:
      return sum_shares_directly();
  }
}

// As if it began at the beginning of the whole buffer: GroupPlan adds the span's offset.
std::byte* ReducePlan::place_for(const Span& span) {
  if (me_ == root_ || span.bytes == 0) return operation_.request().out;
  return scratch_.take(span.bytes) - span.at;
}

// Each rank sums a share, and sends it to the root. So all ranks add at once, and the root receives
// at most twice the data, for any number of ranks.
void ReducePlan::sum_shares_directly() {
  auto shares = divide_evenly(0, operation_.bytes(), operation_.element(), group_.size());
  std::byte* out = place_for(shares[me_][0]);
  groups_.reduce(group_, {operation_.request().in, out, Wire::kExact, true}, shares);
  const Span& own = shares[me_][0];
  if (me_ != root_) {
    return flows_.send(group_[root_], out + own.at, own.bytes, Wire::kExact, own.ready);
  }
  for (std::size_t i = 0; i < group_.size(); ++i) {
    if (i == me_) continue;
    Incoming piece;
    piece.target = out + shares[i][0].at;
    piece.bytes = shares[i][0].bytes;
    flows_.receive(group_[i], piece);
  }
}

// Along a binomial tree, from its leaves to the root: log2(n) steps, of one message each.
void ReducePlan::sum_along_tree() {
  const std::uint64_t bytes = operation_.bytes();
  const std::byte* value = operation_.request().in;
  Gate there{};
  std::size_t bit = 1, last = 0;  // the child of the greatest number comes last
  for (; bit < group_.size() && (me_ & bit) == 0; bit *= 2) {
    if (me_ + bit < group_.size()) last = bit;
  }
  const std::size_t parent_bit = bit;
  for (bit = 1; bit < parent_bit; bit *= 2) {
    if (me_ + bit >= group_.size()) break;
    Incoming piece;
    piece.action = Action::kCombine;
    piece.target = me_ == root_ ? operation_.request().out : scratch_.take(bytes);
    piece.own = value;
    piece.bytes = bytes;
    piece.gate = there;
    piece.is_last = me_ == root_ && bit == last;
    there = flows_.receive(group_[me_ + bit], piece);
    value = piece.target;
  }
  if (me_ != root_) flows_.send(group_[me_ - parent_bit], value, bytes, Wire::kExact, there);
}

void ReducePlan::sum_by_halving() {
  auto shares = divide_evenly(0, operation_.bytes(), operation_.element(), group_.size());
  HalvingPlan halving(group_, me_, flows_);
  std::byte* out = place_for(whole_of(shares, halving.summed()));
  const GroupPlan::Buffers buffers{operation_.request().in, out, Wire::kExact, true};
  halving.reduce(buffers, out, shares);
  halving.gather_to(root_, out, shares);
}

}  // namespace dtl::ring
