#pragma once
// GroupPlan: the building blocks of collectives: how the members of a group send each other shares
// of their buffers, and sum them. Used while the schedule is made. Knows the given buffers, not
// which collective they belong to. All members must call it with the same group and shares; only
// then do their flows fit together.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/flow_plan.h"
#include "ring/operation/shares.h"

namespace dtl::ring {

using Group = std::vector<int>;  // ranks; a member is an index into it
// In order of rank; by_node(): of nodes, so that neighbours share a node where possible.
Group everybody(const NodeMap& map);
Group by_node(const NodeMap& map);

class GroupPlan {
 public:
  // in: the data that this rank sends. out: the place for sums and results. Both as if they held
  // the whole buffer, as spans count from its beginning.
  struct Buffers {
    const std::byte* in;
    std::byte* out;
    Wire wire;
    bool is_last;               // sums are results
    const std::byte* own = in;  // this rank's operand
  };

  // scratch: for windows; must last while the operation is in flight.
  GroupPlan(const Operation& operation, int rank, FlowPlan& flows, Arena& scratch)
      : operation_(operation), rank_(rank), flows_(flows), scratch_(scratch) {}

  std::size_t place_in(const Group& group) const;
  // Each rank sends each member its share of in, and gets its own share summed in out. Sets when
  // the spans of the own share are ready.
  void reduce(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  // The second half of it: this rank sums what all others send it.
  void collect(const Group& group, const Buffers& buffers, Share& own);
  // Every member sends its share of out to all others. Sets when the spans of the others are ready.
  void spread(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  // Both, by one of direct, ring, halving and groups.
  void sum_by(Algorithm algorithm, const Group& group, const Buffers& buffers,
              std::vector<Share>& shares);
  // Ranges of shares, in the order in which sum_by() reads them, and makes them ready.
  std::vector<Range> needs(Algorithm algorithm, const Group& group);
  std::vector<Range> results(Algorithm algorithm, const Group& group);
  // Like spread(), around a ring, for shares of one span.
  void gather_around(const Group& group, std::byte* out, const std::vector<Share>& shares);

 private:
  void sum_around(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  void sum_in_groups(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  void receive_operand(int peer, const Sum& sum, std::size_t index, std::size_t source);
  void set_window(Sum& sum, std::size_t sources) const;

  const Operation& operation_;
  const int rank_;
  FlowPlan& flows_;
  Arena& scratch_;
};

}  // namespace dtl::ring
