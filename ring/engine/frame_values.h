#pragma once
// FrameValues: what becomes of the values that frames bring: they are stored, or joined with this
// rank's own. Always in the same order, never in that of arrival, so that sums have the same bits
// every time. Owned by the FrameReceiver; used by whoever drives the engine. Knows nothing of links
// and windows' limits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/arithmetic/reduce.h"
#include "ring/engine/active_operations.h"

namespace dtl::ring {

class FrameValues {
 public:
  explicit FrameValues(int world) : world_(static_cast<std::uint64_t>(world)) {}

  // Bytes of a piece, at this offset as they travel, that lie at `payload`.
  void take(const ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
            const std::byte* payload, std::uint64_t bytes) const;
  // The same, and writes the results over the payload.
  void take_and_answer(const ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
                       std::byte* payload, std::uint64_t bytes) const;
  // The part of a sum that all operands have reached. True when there was any.
  bool advance(ActiveOperation& active, Sum& sum);

 private:
  void finish(const Operation& operation, std::byte* data, std::uint64_t bytes, Wire wire) const;

  const std::uint64_t world_;
  std::vector<Operand> operands_;  // of advance(), which so allocates nothing
};

}  // namespace dtl::ring
