#pragma once
// EndedOperations: the last operations of a communicator. If a peer only now begins one of them
// with this rank, it has called another operation there: the error can name both calls, where the
// peer would otherwise wait until its timeout. Used by the driving thread.

#include <array>
#include <optional>

#include "ring/links/link.h"
#include "ring/operation/operation.h"

namespace dtl::ring {

class EndedOperations {
 public:
  // Leaves out the library's own, because numbers restart after them (restart()), and pairs,
  // because each has separate numbers.
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
