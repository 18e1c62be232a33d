#pragma once
// ReducePlan: how the values of all ranks are summed on one of them. Used while the schedule is
// made; a temporary.

#include <cstddef>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/operation/group_plan.h"
#include "ring/operation/operation.h"

namespace dtl::ring {

class ReducePlan {
 public:
  ReducePlan(const Operation& operation, const NodeMap& map, FlowPlan& flows, GroupPlan& groups,
             Arena& scratch);

  void plan();

 private:
  void sum_shares_directly();
  void sum_along_tree();
  void sum_by_halving();
  std::byte* place_for(const Span& span);

  const Operation& operation_;
  FlowPlan& flows_;
  GroupPlan& groups_;
  Arena& scratch_;
  const Group group_;  // few ranks: in order of rank; many: of nodes
  const std::size_t me_, root_;
};

}  // namespace dtl::ring
