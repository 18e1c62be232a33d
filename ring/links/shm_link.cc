// Counters are published with release and read with acquire. So a slot is complete when its number
// is seen, and free when the receiver's number has passed it.
#include "ring/links/shm_link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dtl::ring {
namespace {

// Frames of one lane before the other lanes have their turn.
constexpr int kFramesPerLane = 8;
// Shorter payloads travel in their slot even where peers could read them in place.
constexpr std::size_t kWorthReading = 4 << 10;
constexpr Lane kAllLanes[] = {Lane::kSmall, Lane::kBulk, Lane::kPair};

}  // namespace

ShmLink::ShmLink(ShmNode& share, int local, int rank)
    : share_(share),
      local_(static_cast<std::size_t>(local)),
      rank_(rank),
      peer_(share.peers_[local_]),
      own_counters_(share.layout_.counters(share.segment_.data(), local_)),
      peer_counters_(
          share.layout_.counters(peer_.segment.data(), static_cast<std::size_t>(share.own_))),
      memory_(peer_.pid, peer_.segment.data()) {
  share_.links_.push_back(this);
}

ShmLink::~ShmLink() {
  std::erase(share_.links_, this);
}

bool ShmLink::can_begin(Lane lane) const {
  const auto index = static_cast<std::size_t>(lane);
  const Way& way = ways_[index];
  if (is_broken_) return false;
  // A slot is free once its frame was consumed by the peer and reported here: `sent` still has the
  // frame until then.
  return way.produced - std::min(way.reported, way.seen_consumed) < kSlots;
}

void ShmLink::begin(const FrameHead& head, const OperationHeader* operation,
                    const std::byte* payload, std::byte* answer) {
  const auto lane = static_cast<Lane>(head.lane);
  Way& way = ways_[head.lane];
  const Layout& layout = share_.layout_;
  std::byte* const segment = share_.segment_.data();
  Slot& slot = layout.slot(segment, local_, lane, way.produced);
  // frame_bytes() has cut the frame so that it fits, unless the peer reads the payload in place.
  const bool is_inline = head.bytes <= layout.inline_bytes(lane) &&
                         (head.bytes < kWorthReading || !is_in_place(payload, answer));
  slot.head = head;
  slot.is_inline = is_inline ? 1 : 0;
  if (operation != nullptr) slot.operation = *operation;
  slot.address = reinterpret_cast<std::uintptr_t>(payload);
  if (is_inline && head.bytes > 0) {
    std::memcpy(layout.payload(segment, local_, lane, way.produced), payload, head.bytes);
  }
  // Before the counter moves on: from then on the peer may read the slot.
  way.sent[way.produced % kSlots] = {head, is_inline || head.bytes == 0, answer};
  own_counters_.produced[head.lane].store(++way.produced, std::memory_order_release);
  owes_ring_ = true;
  is_idle_ = false;
}

// Payloads are copied through slots, which stay in a cache: both ends copy at the same time and
// without a system call. In three cases the peer reads them in the sender's memory instead. There
// is no room for slots. Slots are so short that one system call costs less than many slots. Or the
// peer needs no system call for it, and the payload is not very short.
std::size_t ShmLink::frame_bytes(Lane lane, const std::byte* data, const std::byte* answer,
                                 std::uint64_t bytes) const {
  const std::size_t of_slot = share_.layout_.inline_bytes(lane);
  const bool is_slow = of_slot < kWorthReading && bytes > kSlots * of_slot;
  return of_slot > 0 && !is_slow && !is_in_place(data, answer) ? of_slot : kMostFrameBytes;
}

// The peer can read it where it lies, and write the answer there.
bool ShmLink::is_in_place(const std::byte* payload, const std::byte* answer) const {
  return (answer == nullptr || answer == payload) && share_.allocations_->contains(payload);
}

bool ShmLink::is_sent() const {
  return is_broken_ || std::all_of(ways_.begin(), ways_.end(),
                                   [](const Way& way) { return way.reported == way.produced; });
}

bool ShmLink::has_news() const {
  if (is_broken_) return false;
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (peer_counters_.produced[i].load(std::memory_order_acquire) != ways_[i].seen_produced ||
        peer_counters_.consumed[i].load(std::memory_order_acquire) != ways_[i].seen_consumed) {
      return true;
    }
  }
  return false;
}

// All that was begun has been reported, and all that has come was taken.
bool ShmLink::is_at_rest() const {
  return std::all_of(ways_.begin(), ways_.end(), [](const Way& way) {
    return way.reported == way.produced && way.consumed == way.seen_produced;
  });
}

bool ShmLink::step(Sink& sink) {
  // A rank of a node with many has many links, most of them idle.
  if (is_idle_ && !has_news()) return false;
  bool moved = false;
  for (const Lane lane : kAllLanes) {
    Way& way = ways_[static_cast<std::size_t>(lane)];
    if (is_broken_) return moved;
    if (report_sent(lane, way, sink)) moved = true;
    if (take_frames(lane, way, sink)) moved = true;
  }
  if (std::exchange(owes_ring_, false)) ShmNode::ring(peer_);
  is_idle_ = is_at_rest();
  return moved;
}

bool ShmLink::report_sent(Lane lane, Way& way, Sink& sink) {
  const std::uint64_t consumed =
      peer_counters_.consumed[static_cast<std::size_t>(lane)].load(std::memory_order_acquire);
  // A free slot lets the next frame begin, so it counts as movement even when nothing is reported.
  // Otherwise the engine would sleep, and nobody would wake it for the frame that now fits.
  bool moved = std::exchange(way.seen_consumed, consumed) != consumed;
  while (way.reported < way.produced) {
    const Way::Sent& sent = way.sent[way.reported % kSlots];
    // A payload in a slot is a copy, and its caller may have the original back at once. Others, and
    // answers, need the peer to be done.
    if ((!sent.is_inline || sent.answer != nullptr) && way.reported >= way.seen_consumed) break;
    if (sent.answer != nullptr && sent.is_inline) {
      std::memcpy(sent.answer,
                  share_.layout_.payload(share_.segment_.data(), local_, lane, way.reported),
                  sent.head.bytes);
    }
    ++way.reported;
    moved = true;
    sink.sent(rank_, sent.head);
  }
  return moved;
}

bool ShmLink::take_frames(Lane lane, Way& way, Sink& sink) {
  const auto index = static_cast<std::size_t>(lane);
  way.seen_produced = peer_counters_.produced[index].load(std::memory_order_acquire);
  if (way.seen_produced == way.consumed) return false;
  // More than fit: the peer, or what wrote over its memory, counts wrongly.
  if (way.seen_produced - way.consumed > kSlots) {
    is_broken_ = true;
    sink.broken(rank_, EPROTO);
    return true;
  }
  bool moved = false;
  for (int i = 0; i < kFramesPerLane && way.consumed < way.seen_produced; ++i) {
    // A copy, so that what was checked is what is used: the peer can write to the slot meanwhile.
    const Slot slot = share_.layout_.slot(
        peer_.segment.data(), static_cast<std::size_t>(share_.own_), lane, way.consumed);
    const bool is_sane =
        slot.head.magic == kFrameMagic && slot.head.lane == index &&
        slot.head.bytes <= kMostFrameBytes &&
        (slot.is_inline == 0 || slot.head.bytes <= share_.layout_.inline_bytes(lane));
    if (!is_sane) {
      is_broken_ = true;
      sink.broken(rank_, EPROTO);
      return true;
    }
    const auto target =
        sink.admit(rank_, slot.head, slot.head.has_operation != 0 ? &slot.operation : nullptr);
    if (!target) break;
    std::byte* payload = read_payload(slot, lane, way.consumed, *target, sink);
    if (is_broken_) return true;
    const bool is_peers = slot.is_inline == 0 && slot.head.bytes > 0;
    const bool is_answered = slot.head.is_answered != 0;
    // A peer that has left has given its buffers back to its caller. What was read from them may be
    // anything, and no answer may be written there. has_left() is asked before an answer is made,
    // and again after the bytes were used.
    const bool has_arrived = !(is_peers && is_answered && memory_.has_left());
    if (has_arrived) sink.arrived(rank_, slot.head, payload);
    if (is_peers &&
        (memory_.has_left() || (is_answered && payload == *target &&
                                !memory_.write(slot.address, slot.head.bytes, payload)))) {
      is_broken_ = true;
      sink.broken(rank_, ECANCELED);
      return true;
    }
    moved = true;
    own_counters_.consumed[index].store(++way.consumed, std::memory_order_release);
    owes_ring_ = true;
  }
  return moved;
}

std::byte* ShmLink::read_payload(const Slot& slot, Lane lane, std::uint64_t number,
                                 std::byte* target, Sink& sink) {
  const std::size_t bytes = slot.head.bytes;
  if (bytes == 0) return target;
  if (slot.is_inline != 0) {
    return share_.layout_.payload(peer_.segment.data(), static_cast<std::size_t>(share_.own_), lane,
                                  number);
  }
  if (std::byte* there = memory_.read(slot.address, bytes, target)) return there;
  is_broken_ = true;
  sink.broken(rank_, errno);
  return nullptr;
}

}  // namespace dtl::ring
