// Looks up a frame twice, when it is admitted and when it has arrived, because many frames of other
// connections may arrive in between.
#include "ring/engine/frame_receiver.h"

#include <algorithm>
#include <cerrno>

namespace dtl::ring {
namespace {

// Advances the gapless part of the flow, in wire bytes. Frames of several connections arrive in any
// order, so there may be islands after a gap; never many: about one per stream.
void join_islands(Flow& flow, std::uint64_t to) {
  flow.travelled = to;
  for (bool grown = true; grown && !flow.islands.empty();) {
    const auto at = std::find_if(flow.islands.begin(), flow.islands.end(),
                                 [&](const Island& each) { return each.from == flow.travelled; });
    grown = at != flow.islands.end();
    if (!grown) break;
    flow.travelled = at->to;
    flow.islands.erase(at);
  }
}

void advance_prefix(const Operation& operation, Flow& flow, std::uint64_t from, std::uint64_t to) {
  if (from != flow.travelled) {
    flow.islands.push_back({from, to});
    return;
  }
  join_islands(flow, to);
  // The same in memory bytes. A piece may have half as many bytes on the wire, and gates count
  // memory bytes.
  std::uint64_t left = flow.travelled - from;
  while (left > 0) {
    const Incoming& piece = flow.in[flow.prefix_piece];
    const std::uint64_t rest = operation.travelling(piece.wire, piece.bytes - flow.prefix_at);
    const std::uint64_t here = std::min(rest, left);
    const std::uint64_t bytes = operation.in_memory(piece.wire, here);
    flow.prefix += bytes;
    flow.prefix_at += bytes;
    left -= here;
    if (flow.prefix_at < piece.bytes) continue;
    ++flow.prefix_piece;
    flow.prefix_at = 0;
  }
}

}  // namespace

bool FrameReceiver::is_agreed(int peer, Found found, const OperationHeader& theirs) {
  const bool is_expected = found.flow != nullptr && found.flow->receives;
  const OperationHeader& mine =
      is_expected ? found.flow->in_header : found.active->operation().header();
  if (is_expected && same_operation(mine, theirs)) return true;
  findings_.mismatch = LinkFindings::Mismatch{peer, mine, theirs};
  return false;
}

std::optional<std::byte*> FrameReceiver::admit(int peer, const FrameHead& head,
                                               const OperationHeader* operation) {
  const Found found = operations_.find(peer, head, true);
  // The first one will end everything.
  if (findings_.mismatch) return std::nullopt;
  if (operation != nullptr && head.lane == static_cast<std::uint8_t>(Lane::kPair)) {
    // For dt_probe: a message without a dt_recv.
    findings_.note_message(peer, *operation, found.active != nullptr);
  }
  if (found.active == nullptr) {
    if (const auto mine = operations_.find_ended(head, operation)) {
      findings_.mismatch = LinkFindings::Mismatch{peer, *mine, *operation};
    }
    return std::nullopt;
  }
  if (operation != nullptr && !is_agreed(peer, found, *operation)) return std::nullopt;
  Flow* flow = found.flow;
  // A frame without a header may overtake the one with it on another stream. Nothing counts before
  // the header was compared.
  if (flow == nullptr || (operation == nullptr && !flow->has_heard)) return std::nullopt;
  flow->has_heard = true;
  if (head.bytes == 0) return nullptr;
  const Place place = place_of(*found.active, *flow, head);
  // An answered frame that this rank does not expect would make it write into the peer's memory.
  if (place.piece == nullptr || place.piece->is_answered != (head.is_answered != 0)) {
    findings_.breaks.push_back({peer, EPROTO});
    return std::nullopt;
  }
  return destination_of(head, *found.active, *flow, place);
}

// Where the payload goes: its final place if possible, so that it is not copied.
std::optional<std::byte*> FrameReceiver::destination_of(const FrameHead& head,
                                                        const ActiveOperation& active, Flow& flow,
                                                        const Place& place) {
  const Incoming& piece = *place.piece;
  const std::uint64_t end = place.offset + head.bytes;
  if (piece.action == Action::kCollect) {
    if (!has_window(active, piece, end)) return std::nullopt;
    const Sum& sum = active.schedule.sums[piece.sum];
    return sum.sources[piece.source].window + (piece.window_at + place.offset) % sum.window_bytes;
  }
  if (piece.action == Action::kStore && piece.wire == Wire::kExact) {
    return piece.target + place.offset;
  }
  const std::uint64_t bytes = active.operation().in_memory(piece.wire, end);
  // The operand to add it to is not there yet.
  if (active.schedule.allowed(piece.gate, piece.bytes) < bytes) return std::nullopt;
  std::byte* buffer = buffers_.take();
  flow.expected.push_back({head.offset, buffer});
  return buffer;
}

// The piece that contains the frame. Null if no piece contains all of it, if it ends within an
// element, or if it spans a multiple of frame_bytes, where a window may end. A peer that sends such
// frames is broken.
FrameReceiver::Place FrameReceiver::place_of(const ActiveOperation& active, Flow& flow,
                                             const FrameHead& head) {
  const Operation& operation = active.operation();
  const std::uint64_t frame_bytes = active.schedule.frame_bytes;
  std::uint64_t from = 0;
  for (Incoming& piece : flow.in) {
    const std::uint64_t bytes = operation.travelling(piece.wire, piece.bytes);
    if (head.offset < from + bytes) {
      const std::uint64_t offset = head.offset - from;
      const std::size_t element = wire_bytes(operation.request().dtype, piece.wire);
      const bool fits = head.bytes <= bytes - offset && head.bytes <= kMostFrameBytes &&
                        offset % element == 0 && head.bytes % element == 0 &&
                        offset / frame_bytes == (offset + head.bytes - 1) / frame_bytes;
      return fits ? Place{&piece, offset} : Place{};
    }
    from += bytes;
  }
  return {};
}

// Windows are circular: bytes may come once the sum has read the old ones in their place. That
// limits the memory of a sum of any size, and holds back only peers that are ahead.
bool FrameReceiver::has_window(const ActiveOperation& active, const Incoming& piece,
                               std::uint64_t end) {
  const Sum& sum = active.schedule.sums[piece.sum];
  if (sum.done == sum.bytes) return false;
  const Sum::Part& part = sum.parts[sum.part];
  const std::uint64_t taken =
      part.window_at + active.operation().travelling(sum.wire, sum.done - part.at);
  return piece.window_at + end <= taken + sum.window_bytes;
}

void FrameReceiver::arrived(int peer, const FrameHead& head, std::byte* payload) {
  const Found found = operations_.find(peer, head, true);
  if (found.flow == nullptr) return;
  Flow& flow = *found.flow;
  if (head.bytes == 0) return;
  const Place place = place_of(*found.active, flow, head);
  if (place.piece == nullptr) return;
  if (place.piece->is_answered) {
    values_.take_and_answer(*found.active, *place.piece, place.offset, payload, head.bytes);
  } else {
    values_.take(*found.active, *place.piece, place.offset, payload, head.bytes);
  }
  buffers_.give_back(flow.expected, head.offset);
  flow.arrived += head.bytes;
  bytes_ += head.bytes;
  advance_prefix(found.active->operation(), flow, head.offset, head.offset + head.bytes);
}

bool FrameReceiver::advance_sums() {
  bool moved = false;
  for (ActiveOperation* active : operations_.all()) {
    for (Sum& sum : active->schedule.sums) moved |= values_.advance(*active, sum);
  }
  return moved;
}

}  // namespace dtl::ring
