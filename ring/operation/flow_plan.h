#pragma once
// FlowPlan: writes pieces and sums into the Schedule of one operation, in the order in which they
// move: the order of calls for a peer is the order of its flow. Used while the schedule is made.
// Knows nothing of groups or of the reason for a transfer.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/operation/operation.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {

class FlowPlan {
 public:
  // senders: how many peers may send operands of one sum to a rank. With many, frames are short, so
  // that all windows fit. All ranks need the same number.
  FlowPlan(const Operation& operation, std::size_t senders, Schedule& schedule);

  // Sends the bytes once the gate is open; from then on they must not change. Without bytes, sends
  // only the header, which shows the peer that this rank takes part.
  void send(int peer, const std::byte* data, std::uint64_t bytes, Wire wire, Gate gate);
  // The peer answers the last send() to it: it writes its results over the sent bytes, and they end
  // up at `answer`.
  void expect_answer(int peer, std::byte* answer);
  // Returns a gate that opens as this piece arrives.
  Gate receive(int peer, Incoming piece);
  // Operands that arrive at different times; their pieces name the sum's index.
  std::size_t next_sum() const { return schedule_.sums.size(); }
  void add(Sum sum);

  // The gate of bytes that become ready in parts, in this order.
  Gate join(std::vector<GatePart> parts);

  std::size_t flow_with(int peer);
  std::uint64_t frame_bytes() const { return schedule_.frame_bytes; }
  // Sets the headers that peers compare; call it after adding all pieces.
  void set_headers();

 private:
  const Operation& operation_;
  Schedule& schedule_;
};

}  // namespace dtl::ring
