#pragma once
// Schedule: which bytes of one operation go where, in which order, and their progress. The
// Scheduler makes it; the driving thread updates it. It answers all questions about the progress of
// an operation.

#include <cstdint>
#include <vector>

#include "ring/operation/flow.h"

namespace dtl::ring {

struct Schedule {
  std::vector<Flow> flows;
  std::vector<Sum> sums;
  std::vector<std::vector<GatePart>> gate_parts;  // of gates of the kind kParts
  // The values are on the board, and flows only have headers. number: of the entry; 0: not shown.
  struct Board {
    bool is_used = false, is_taken = false;
    std::uint64_t number = 0;
  };
  Board board;
  std::uint64_t frame_bytes = 0;  // frames never cross multiples of this within a piece

  Flow* find_flow(int peer);
  // How many of `bytes` may be read now.
  std::uint64_t allowed(const Gate& gate, std::uint64_t bytes) const;
  bool is_done() const;
  // Peers that have not confirmed their participation, in order: a timeout names them.
  std::vector<int> unheard() const;
  void clear();
};

}  // namespace dtl::ring
