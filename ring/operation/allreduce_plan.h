#pragma once
// AllreducePlan: the algorithms by which all ranks sum values and all get the result. choose()
// selects one; this makes its schedule. A temporary for that time; it keeps nothing. Each rank
// plans its own part, and the parts must fit: both ends of a flow list the same pieces in the same
// order.

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
  // For any buffers; a barrier sums one byte. ready: when `in` may be read. Returns when `out` may
  // be.
  Gate sum_by_doubling(const Group& group, const std::byte* in, std::byte* out, std::uint64_t bytes,
                       Gate ready = {});

 private:
  void sum_at_once();
  void sum_with_answers(int peer);
  void sum_by_leaders();
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
