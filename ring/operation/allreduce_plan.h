#pragma once
// AllreducePlan: the ways in which all ranks sum up values that all of them get. choose() has found
// which; this lays it out. A temporary: used while an operation is laid out, it keeps nothing. Each
// rank lays out its own part, and the parts have to fit: both ends of a flow list the same pieces
// in the same order.

#include <cstddef>
#include <cstdint>

#include "ring/links/node_map.h"
#include "ring/operation/group_plan.h"

namespace dtl::ring {

class AllreducePlan {
 public:
  AllreducePlan(const Operation& operation, const NodeMap& map, FlowPlan& flows, GroupPlan& groups,
                Arena& scratch)
      : operation_(operation), map_(map), flows_(flows), groups_(groups), scratch_(scratch) {}

  void plan();
  // Of any buffers; a barrier is one of a byte.
  void sum_by_doubling(const std::byte* in, std::byte* out, std::uint64_t bytes);

 private:
  void sum_at_once();
  void sum_with_answers(int peer);
  void sum_over_nodes();
  void sum_over_everybody();
  const std::byte* own_input();
  const std::byte* as_it_would_travel(const Span& span);
  std::uint64_t bytes() const { return operation_.bytes(); }
  const Request& request() const { return operation_.request(); }

  const Operation& operation_;
  const NodeMap& map_;
  FlowPlan& flows_;
  GroupPlan& groups_;
  Arena& scratch_;
};

}  // namespace dtl::ring
