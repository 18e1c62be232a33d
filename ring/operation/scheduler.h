#pragma once
// Scheduler: plans how the bytes of one operation move: the flows and sums of its Schedule, with
// the algorithm from choose(). Knows the building blocks of each collective. Moves nothing, except
// this rank's own share between its buffers. A temporary.

#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/flow_plan.h"
#include "ring/operation/group_plan.h"
#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {

class Scheduler {
 public:
  // scratch: temporary memory of the operation while it is in flight.
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
  void plan_board();
  std::uint64_t bytes() const { return operation_.bytes(); }

  const Operation& operation_;
  const Request& request_;
  const NodeMap& map_;
  Arena& scratch_;
  Schedule& schedule_;
  FlowPlan flows_;
  GroupPlan groups_;
};

}  // namespace dtl::ring
