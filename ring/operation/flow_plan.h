#pragma once
// FlowPlan: writes pieces and sums into the Schedule of one operation, in the order in which they
// move: the order of calls for a peer is the order of its flow. Used while the operation is laid
// out. Knows nothing of groups and of why bytes go anywhere.

#include <cstddef>
#include <cstdint>

#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {

class FlowPlan {
 public:
  // world: of ranks. With many of them frames are short, so that windows for all find room.
  FlowPlan(const Operation& operation, int world, Schedule& schedule);

  // No bytes: the header goes alone, which says that this rank takes part. The data has to stay as
  // it is as far as the gate is open.
  void send(int peer, const std::byte* data, std::uint64_t bytes, Wire wire, Gate gate);
  // The peer writes its results for what was sent last over it, and they come to `answer`.
  void expect_answer(int peer, std::byte* answer);
  // Answers a gate that opens as this piece arrives.
  Gate receive(int peer, Incoming piece);
  // Operands that arrive at different times; the pieces that bring them name its index.
  std::size_t next_sum() const { return schedule_.sums.size(); }
  void add(Sum sum);

  std::size_t flow_with(int peer);
  std::uint64_t frame_bytes() const { return schedule_.frame_bytes; }
  // What peers compare, once all pieces are there.
  void set_headers();

 private:
  const Operation& operation_;
  Schedule& schedule_;
};

}  // namespace dtl::ring
