// Offsets of frames count wire bytes, buffers count memory bytes; only operation.in_memory() and
// travelling() convert between them.
#include "ring/engine/frame_values.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace dtl::ring {

void FrameValues::take(const ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
                       const std::byte* payload, std::uint64_t bytes) const {
  const Operation& operation = active.operation();
  const std::uint64_t at = operation.in_memory(piece.wire, offset);
  const std::uint64_t count = operation.in_memory(piece.wire, bytes) / operation.element();
  if (piece.action == Action::kCombine) {
    const std::array<Operand, 2> operands{Operand{piece.own + at, Wire::kExact},
                                          Operand{payload, piece.wire}};
    const Request& request = operation.request();
    combine(request.dtype, request.op, piece.target + at, operands.data(), 2, count);
    if (piece.is_last) {
      finish(operation, piece.target + at, count * operation.element(), piece.wire);
    }
    return;
  }
  std::byte* target = piece.target + at;
  if (piece.action == Action::kCollect) {
    const Sum& sum = active.schedule.sums[piece.sum];
    target = sum.sources[piece.source].window + (piece.window_at + offset) % sum.window_bytes;
  } else if (piece.wire != Wire::kExact) {
    from_wire(piece.wire, reinterpret_cast<float*>(target), payload, count);
    return;
  }
  if (payload != target) std::memcpy(target, payload, bytes);
}

// In blocks, so that each is still in the L1 cache when it is copied.
void FrameValues::take_and_answer(const ActiveOperation& active, const Incoming& piece,
                                  std::uint64_t offset, std::byte* payload,
                                  std::uint64_t bytes) const {
  constexpr std::uint64_t kBlock = 8 << 10;
  for (std::uint64_t at = 0; at < bytes; at += kBlock) {
    const std::uint64_t part = std::min(kBlock, bytes - at);
    take(active, piece, offset + at, payload + at, part);
    std::memcpy(payload + at, piece.target + offset + at, part);
  }
}

// The part of a sum that all operands have reached.
bool FrameValues::advance(ActiveOperation& active, Sum& sum) {
  const Operation& operation = active.operation();
  constexpr std::uint64_t kBlock = 32 << 10;  // so that operands and result stay in the L1 cache
  std::uint64_t limit = sum.bytes;
  for (const Sum::Source& source : sum.sources) {
    // The operand with the least data decides how far the sum may go.
    limit = std::min(limit, source.is_own ? active.schedule.allowed(sum.own_gate, sum.bytes)
                                          : active.schedule.flows[source.flow].prefix);
  }
  if (limit <= sum.done) return false;
  const Request& request = operation.request();
  while (sum.done < limit) {
    const Sum::Part& part = sum.parts[sum.part];
    const std::uint64_t offset = sum.done - part.at;
    const std::uint64_t at =
        (part.window_at + operation.travelling(sum.wire, offset)) % sum.window_bytes;
    const std::uint64_t bytes = std::min({limit - sum.done, part.bytes - offset, kBlock,
                                          operation.in_memory(sum.wire, sum.window_bytes - at)});
    operands_.clear();
    for (const Sum::Source& source : sum.sources) {
      operands_.push_back(source.is_own ? Operand{part.own + offset, Wire::kExact}
                                        : Operand{source.window + at, sum.wire});
    }
    combine(request.dtype, request.op, part.out + offset, operands_.data(), operands_.size(),
            bytes / operation.element());
    if (sum.is_last) finish(operation, part.out + offset, bytes, sum.wire);
    sum.done += bytes;
    if (offset + bytes == part.bytes && sum.part + 1 < sum.parts.size()) ++sum.part;
  }
  return true;
}

// The owner's final steps on a result before others get it. The result is rounded to wire format,
// so that the owner has the same bits as all others. The result of a reduce_scatter is not sent.
void FrameValues::finish(const Operation& operation, std::byte* data, std::uint64_t bytes,
                         Wire wire) const {
  const Request& request = operation.request();
  const std::uint64_t count = bytes / operation.element();
  if (request.op == DT_AVG) {
    divide(request.dtype, data, count, world_);
  }
  if (wire != Wire::kExact && request.opcode != Opcode::kReduceScatter) {
    round_to_wire(wire, reinterpret_cast<float*>(data), count);
  }
}

}  // namespace dtl::ring
