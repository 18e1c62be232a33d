#pragma once
// FrameValues: stores the values of frames, or combines them with this rank's own. Always in the
// same order, never in order of arrival, so that sums always have the same bits. Owned by the
// FrameReceiver; used by the driving thread. Knows nothing of links and windows' limits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/arithmetic/reduce.h"
#include "ring/engine/active_operations.h"

namespace dtl::ring {

class FrameValues {
 public:
  explicit FrameValues(int world) : world_(static_cast<std::uint64_t>(world)) {}

  // Bytes of a piece at `payload`; `offset` is in wire bytes.
  void take(const ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
            const std::byte* payload, std::uint64_t bytes) const;
  // The same, and overwrites the payload with the results.
  void take_and_answer(const ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
                       std::byte* payload, std::uint64_t bytes) const;
  // Adds the part of a sum that all operands have reached. True if there was any.
  bool advance(ActiveOperation& active, Sum& sum);

 private:
  void finish(const Operation& operation, std::byte* data, std::uint64_t bytes, Wire wire) const;

  const std::uint64_t world_;
  std::vector<Operand> operands_;  // for advance(), so that it allocates nothing
};

}  // namespace dtl::ring
