#pragma once
// Scheduler: lays out how the bytes of one operation move: the flows and sums of its Schedule, the
// way that choose() has found.

#include <cstdint>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/operation/arena.h"
#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {

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

class Scheduler {
 public:
  // scratch: what the operation needs in between; for as long as it is in flight.
  Scheduler(const Operation& operation, const NodeMap& map, Arena& scratch, Schedule& schedule);

  void plan();

 private:
  using Group = std::vector<int>;  // ranks; a member is a place in it
  struct Buffers {
    const std::byte* in;
    std::byte* out;
    Wire wire;
    bool is_last;               // sums are results
    const std::byte* own = in;  // this rank's operand
  };

  // Everybody sends each member its share of in, and gets its own summed up in out. Sets when the
  // spans of the own share are there.
  void reduce(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  void collect(const Group& group, const Buffers& buffers, Share& own);
  void set_window(Sum& sum, std::size_t sources) const;
  // Every member sends its share of out to all others. Sets when the spans of the others are there.
  void spread(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  // Both around a ring, for shares of one span.
  void sum_around(const Group& group, const Buffers& buffers, std::vector<Share>& shares);
  void sum_by(Algorithm algorithm, const Group& group, const Buffers& buffers,
              std::vector<Share>& shares);
  void sum_at_once();
  void sum_with_answers(int peer);
  void sum_by_doubling(const std::byte* in, std::byte* out, std::uint64_t bytes);
  void sum_over_nodes();
  void sum_over_everybody();
  void plan_allreduce();
  void plan_reduce_scatter();
  void plan_reduce();
  void plan_allgather();
  void gather_around(const Group& group, const std::vector<Share>& shares);
  void plan_broadcast();
  void plan_alltoall();
  void plan_rooted(bool is_gather);
  void plan_barrier();
  void plan_pair();
  void set_headers();

  std::size_t flow_with(int peer);
  void send(int peer, const std::byte* data, std::uint64_t bytes, Wire wire, Gate gate);
  // Where the prefix of the flow stands before this piece.
  Gate receive(int peer, Incoming piece);
  std::size_t place_in(const Group& group) const;
  Group everybody() const;
  Group by_node() const;
  const std::byte* own_input();
  const std::byte* as_it_would_travel(const Span& span);
  std::uint64_t bytes() const { return operation_.bytes(); }

  const Operation& operation_;
  const Request& request_;
  const Choice& choice_;
  const NodeMap& map_;
  Arena& scratch_;
  Schedule& schedule_;
};

}  // namespace dtl::ring
