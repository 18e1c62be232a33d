#pragma once
// EndedOperations: what the last operations of a communicator were. A peer that only now begins one
// of them with this rank has called something else there. Used by the communication thread only.

#include <array>
#include <optional>

#include "ring/links/link.h"
#include "ring/operation/operation.h"

namespace dtl::ring {

class EndedOperations {
 public:
  // The library's own are numbered anew later, and pairs apart from the others.
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
