#pragma once
// GroupPlan: the building blocks of collectives: how the members of a group send each other shares
// of their buffers, and sum them up. Used while an operation is laid out. Knows the buffers that it
// is given, not which collective they belong to. All members call it with the same group and
// shares; only then their flows fit together.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/flow_plan.h"

namespace dtl::ring {

using Group = std::vector<int>;  // ranks; a member is a place in it
// In order of rank, and in order of nodes, so that neighbours share a node where they can.
Group everybody(const NodeMap& map);
Group by_node(const NodeMap& map);

// What one member of a group owns of a buffer: spans in the order in which they move, and from when
// on each may be read.
struct Span {
  std::uint64_t at = 0, bytes = 0;
  Gate ready = {};
};
using Share = std::vector<Span>;

// A share of one span for each of `parts` members: [base, base + bytes) in whole elements, cut at
// cache lines where possible. The last ones may be empty.
std::vector<Share> divide_evenly(std::uint64_t base, std::uint64_t bytes, std::size_t element,
                                 std::size_t parts);

class GroupPlan {
 public:
  // in: what this rank sends of. out: where sums and results go. Both as if they held everything,
  // from which spans are counted.
  struct Buffers {
    const std::byte* in;
    std::byte* out;
    Wire wire;
    bool is_last;               // sums are results
    const std::byte* own = in;  // this rank's operand
  };

  // scratch: for windows; for as long as the operation is in flight.
  GroupPlan(const Operation& operation, int rank, FlowPlan& flows, Arena& scratch)
      : operation_(operation), rank_(rank), flows_(flows), scratch_(scratch) {}

  std::size_t place_in(const Group& group) const;
  // Everybody sends each member its share of in, and gets its own summed up in out. Sets when the
  // spans of the own share are there.
  void reduce(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  // The second half of it: this rank sums up what all others send it.
  void collect(const Group& group, const Buffers& buffers, Share& own);
  // Every member sends its share of out to all others. Sets when the spans of the others are there.
  void spread(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  // Both, around a ring or not.
  void sum_by(Algorithm algorithm, const Group& group, const Buffers& buffers,
              std::vector<Share>& shares);
  // Like spread(), around a ring, for shares of one span.
  void gather_around(const Group& group, std::byte* out, const std::vector<Share>& shares);

 private:
  void sum_around(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  void receive_operand(int peer, const Sum& sum, std::size_t index, std::size_t source);
  void set_window(Sum& sum, std::size_t sources) const;

  const Operation& operation_;
  const int rank_;
  FlowPlan& flows_;
  Arena& scratch_;
};

}  // namespace dtl::ring
