#pragma once
// Schedule: which bytes of one operation go where, in which order, and how far they have come. The
// Scheduler lays it out; whoever drives the engine changes it. Every question about the progress of
// an operation is answered from here.

#include <cstdint>
#include <vector>

#include "ring/operation/flow.h"

namespace dtl::ring {

struct Schedule {
  std::vector<Flow> flows;
  std::vector<Sum> sums;
  std::uint64_t frame_bytes = 0;  // frames do not span multiples of this within a piece

  Flow* find_flow(int peer);
  // How much of `bytes` may be read now.
  std::uint64_t allowed(const Gate& gate, std::uint64_t bytes) const;
  bool is_done() const;
  // Peers that have not said that they take part, in order: those that a time-out should name.
  std::vector<int> unheard() const;
  void clear();
};

}  // namespace dtl::ring
