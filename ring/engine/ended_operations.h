#pragma once
// EndedOperations: what the last operations of a communicator were. A peer that only now begins one
// of them with this rank has called something else there: both calls can then be named, where the
// peer would otherwise wait until its time-out. Used by whoever drives the engine.

#include <array>
#include <optional>

#include "ring/links/link.h"
#include "ring/operation/operation.h"

namespace dtl::ring {

class EndedOperations {
 public:
  // The library's own are left out because numbers begin anew after them (restart()), and pairs
  // because each is numbered by itself.
  void add(const Operation& operation) {
    if (operation.lane() == Lane::kPair || operation.request().is_own) return;
    last_[operation.sequence() % last_.size()] = operation.header();
  }
  std::optional<OperationHeader> find(const FrameHead& head, const OperationHeader* theirs) const {
    if (theirs == nullptr || head.lane == static_cast<std::uint8_t>(Lane::kPair)) return {};
    const OperationHeader& mine = last_[theirs->sequence % last_.size()];
    if (mine.magic != kOperationMagic || mine.sequence != theirs->sequence) return {};
    return mine;
  }

 private:
  std::array<OperationHeader, 256> last_{};  // by sequence
};

}  // namespace dtl::ring
