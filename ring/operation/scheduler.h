#pragma once
// Scheduler: lays out how the bytes of one operation move: the flows and sums of its Schedule, the
// way that choose() has found. Knows which building blocks each collective takes; moves nothing,
// but for this rank's own share where it goes from one buffer to the other. A temporary.

#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/flow_plan.h"
#include "ring/operation/group_plan.h"
#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {

class Scheduler {
 public:
  // scratch: what the operation needs in between; for as long as it is in flight.
  Scheduler(const Operation& operation, const NodeMap& map, Arena& scratch, Schedule& schedule);

  void plan();

 private:
  void plan_allreduce();
  void plan_reduce_scatter();
  void plan_reduce();
  void plan_allgather();
  void plan_broadcast();
  void plan_alltoall();
  void plan_rooted(bool is_gather);
  void plan_barrier();
  void plan_pair();
  std::uint64_t bytes() const { return operation_.bytes(); }

  const Operation& operation_;
  const Request& request_;
  const NodeMap& map_;
  Arena& scratch_;
  FlowPlan flows_;
  GroupPlan groups_;
};

}  // namespace dtl::ring
