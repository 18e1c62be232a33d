// Begins frames while links take them; can_begin() says whether they are full. Nothing is queued in
// between.
#include "ring/engine/frame_sender.h"

#include <algorithm>

#include "ring/arithmetic/reduce.h"

namespace dtl::ring {

bool FrameSender::begin_frames(const ActiveOperations& operations,
                               const std::vector<std::unique_ptr<Link>>& links) {
  bool moved = false;
  ++round_;
  for (ActiveOperation* active : operations.all()) {
    const Lane lane = active->operation().lane();
    for (Flow& flow : active->schedule.flows) {
      const auto is_begun = [&] { return flow.has_begun && flow.out_piece == flow.out.size(); };
      if (!flow.sends || is_begun()) continue;
      const auto peer = static_cast<std::size_t>(flow.peer);
      std::uint64_t& taken = busy_[peer * kLanes + static_cast<std::size_t>(lane)];
      if (taken == round_ || !links[peer]) continue;
      while (!is_begun() && links[peer]->can_begin(lane) &&
             begin_frame(*active, flow, *links[peer])) {
        moved = true;
      }
      if (!is_begun()) taken = round_;  // the next operation waits for this one
    }
  }
  return moved;
}

// Copies the data after flow.out_at in wire format.
const std::byte* FrameSender::stage(const Operation& operation, Flow& flow, const Outgoing& piece,
                                    const FrameHead& head) {
  std::byte* buffer = buffers_.take();
  const std::uint64_t bytes = operation.in_memory(piece.wire, head.bytes);
  to_wire(piece.wire, buffer, reinterpret_cast<const float*>(piece.data + flow.out_at),
          bytes / operation.element());
  flow.staged.push_back({head.offset, buffer});
  return buffer;
}

bool FrameSender::begin_frame(ActiveOperation& active, Flow& flow, Link& link) {
  const Operation& operation = active.operation();
  FrameHead head;
  head.magic = kFrameMagic;
  head.lane = static_cast<std::uint8_t>(operation.lane());
  head.has_operation = flow.has_begun ? 0 : 1;
  head.sequence = static_cast<std::uint32_t>(operation.sequence());
  head.offset = flow.out_travelled;
  const std::byte* payload = nullptr;
  std::byte* answer = nullptr;
  if (flow.out_piece < flow.out.size()) {
    const Outgoing& piece = flow.out[flow.out_piece];
    const std::uint64_t at = operation.travelling(piece.wire, flow.out_at);
    const std::uint64_t open =
        operation.travelling(piece.wire, active.schedule.allowed(piece.gate, piece.bytes)) - at;
    const std::uint64_t most =
        std::min<std::uint64_t>(active.schedule.frame_bytes,
                                link.frame_bytes(operation.lane(), piece.data, piece.answer,
                                                 operation.travelling(piece.wire, piece.bytes)));
    // Never across a multiple of `most` in the piece, so that the receiver's windows end between
    // frames.
    head.bytes = static_cast<std::uint32_t>(std::min(open, most - at % most));
    // A header sent alone tells a peer early that this rank takes part, which pays off for long
    // operations. It costs a system call, and short operations end soon.
    if (head.bytes == 0 && (flow.has_begun || operation.lane() == Lane::kSmall)) return false;
    payload = piece.data + flow.out_at;
    if (piece.answer != nullptr) answer = piece.answer + flow.out_at;
    if (piece.wire != Wire::kExact && head.bytes > 0) payload = stage(operation, flow, piece, head);
    flow.out_at += operation.in_memory(piece.wire, head.bytes);
    if (flow.out_at == piece.bytes) {
      ++flow.out_piece;
      flow.out_at = 0;
    }
  }
  head.is_answered = answer != nullptr ? 1 : 0;
  link.begin(head, flow.has_begun ? nullptr : &flow.out_header, payload, answer);
  flow.has_begun = true;
  flow.out_travelled += head.bytes;
  ++flow.in_flight;
  return true;
}

void FrameSender::finish(Flow& flow, const FrameHead& head) {
  buffers_.give_back(flow.staged, head.offset);
  --flow.in_flight;
  bytes_ += head.bytes;
}

}  // namespace dtl::ring
