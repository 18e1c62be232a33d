#include "ring/links/shm_link.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace dtl::ring {
namespace {

constexpr int kFramesPerLane = 8;               // of one lane, before the others have their turn
constexpr std::size_t kWorthReading = 4 << 10;  // of memory that peers see
constexpr Lane kAllLanes[] = {Lane::kSmall, Lane::kBulk, Lane::kPair};

}  // namespace

ShmLink::ShmLink(ShmNode& share, int local, int rank)
    : share_(share),
      local_(static_cast<std::size_t>(local)),
      rank_(rank),
      peer_(share.peers_[local_]) {
  share_.links_.push_back(this);
}

ShmLink::~ShmLink() {
  std::erase(share_.links_, this);
}

Counters& ShmLink::own_counters() const {
  return share_.layout_.counters(share_.segment_.data(), local_);
}

Counters& ShmLink::peer_counters() const {
  return share_.layout_.counters(peer_.segment.data(), static_cast<std::size_t>(share_.own_));
}

bool ShmLink::can_begin(Lane lane) const {
  const auto index = static_cast<std::size_t>(lane);
  const Way& way = ways_[index];
  if (is_broken_) return false;
  // A slot is free once its frame was consumed and reported.
  return way.produced - std::min(way.reported, way.seen_consumed) < kSlots;
}

void ShmLink::begin(const FrameHead& head, const OperationHeader* operation,
                    const std::byte* payload, std::byte* answer) {
  const auto lane = static_cast<Lane>(head.lane);
  Way& way = ways_[head.lane];
  const Layout& layout = share_.layout_;
  std::byte* const segment = share_.segment_.data();
  Slot& slot = layout.slot(segment, local_, lane, way.produced);
  const bool is_inline = head.bytes <= layout.inline_bytes(lane) &&
                         (head.bytes < kWorthReading || !is_in_place(payload, answer));
  slot.head = head;
  slot.is_inline = is_inline ? 1 : 0;
  if (operation != nullptr) slot.operation = *operation;
  slot.address = reinterpret_cast<std::uintptr_t>(payload);
  if (is_inline && head.bytes > 0) {
    std::memcpy(layout.payload(segment, local_, lane, way.produced), payload, head.bytes);
  }
  way.sent[way.produced % kSlots] = {head, is_inline || head.bytes == 0, answer};
  own_counters().produced[head.lane].store(++way.produced, std::memory_order_release);
  owes_ring_ = true;
}

// Payloads are copied through slots, which stay in a cache: both ends copy at the same time and
// without a system call. Where there is no room for slots, they are read out of the sender's
// memory; and where peers can do that without a system call, always, unless they are very short.
std::size_t ShmLink::frame_bytes(Lane lane, const std::byte* data, const std::byte* answer) const {
  const std::size_t of_slot = share_.layout_.inline_bytes(lane);
  return of_slot > 0 && !is_in_place(data, answer) ? of_slot : kMostFrameBytes;
}

// The peer can read it where it lies, and write the answer there.
bool ShmLink::is_in_place(const std::byte* payload, const std::byte* answer) const {
  return (answer == nullptr || answer == payload) && share_.is_allocated(payload);
}

bool ShmLink::is_sent() const {
  return is_broken_ || std::all_of(ways_.begin(), ways_.end(),
                                   [](const Way& way) { return way.reported == way.produced; });
}

bool ShmLink::has_news() const {
  if (is_broken_) return false;
  const Counters& theirs = peer_counters();
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (theirs.produced[i].load(std::memory_order_acquire) != ways_[i].seen_produced ||
        theirs.consumed[i].load(std::memory_order_acquire) != ways_[i].seen_consumed) {
      return true;
    }
  }
  return false;
}

bool ShmLink::step(Sink& sink) {
  bool moved = false;
  for (const Lane lane : kAllLanes) {
    Way& way = ways_[static_cast<std::size_t>(lane)];
    if (is_broken_) return moved;
    if (report_sent(lane, way, sink)) moved = true;
    if (take_frames(lane, way, sink)) moved = true;
  }
  if (std::exchange(owes_ring_, false)) ShmNode::ring(peer_);
  return moved;
}

bool ShmLink::report_sent(Lane lane, Way& way, Sink& sink) {
  const std::uint64_t consumed =
      peer_counters().consumed[static_cast<std::size_t>(lane)].load(std::memory_order_acquire);
  // A free slot lets the next frame begin: who has seen it must not sleep before that.
  bool moved = std::exchange(way.seen_consumed, consumed) != consumed;
  while (way.reported < way.produced) {
    const Way::Sent& sent = way.sent[way.reported % kSlots];
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
  way.seen_produced = peer_counters().produced[index].load(std::memory_order_acquire);
  if (way.seen_produced == way.consumed) return false;
  if (way.seen_produced - way.consumed > kSlots) {
    is_broken_ = true;
    sink.broken(rank_, EPROTO);
    return true;
  }
  bool moved = false;
  for (int i = 0; i < kFramesPerLane && way.consumed < way.seen_produced; ++i) {
    // A copy, so that what was checked is what is used.
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
    const bool has_arrived = !(is_peers && is_answered && has_left());
    if (has_arrived) sink.arrived(rank_, slot.head, payload);
    if (is_peers &&
        (has_left() || (is_answered && payload == *target && !write_answer(slot, payload)))) {
      is_broken_ = true;
      sink.broken(rank_, ECANCELED);
      return true;
    }
    moved = true;
    own_counters().consumed[index].store(++way.consumed, std::memory_order_release);
    owes_ring_ = true;
  }
  return moved;
}

// After a payload was read: whether its owner may have changed it meanwhile.
bool ShmLink::has_left() const {
  std::atomic_thread_fence(std::memory_order_acquire);
  return Layout::header(peer_.segment.data()).has_left.load(std::memory_order_relaxed) != 0;
}

std::byte* ShmLink::read_payload(const Slot& slot, Lane lane, std::uint64_t number,
                                 std::byte* target, Sink& sink) {
  const std::size_t bytes = slot.head.bytes;
  if (bytes == 0) return target;
  if (slot.is_inline != 0) {
    return share_.layout_.payload(peer_.segment.data(), static_cast<std::size_t>(share_.own_), lane,
                                  number);
  }
  if (std::byte* there = find_region(slot.address, bytes)) return there;
  const iovec local{target, bytes};
  const iovec remote{reinterpret_cast<void*>(slot.address), bytes};
  const ssize_t n = ::process_vm_readv(peer_.pid, &local, 1, &remote, 1, 0);
  if (n == static_cast<ssize_t>(bytes)) return target;
  is_broken_ = true;
  sink.broken(rank_, n < 0 ? errno : EFAULT);
  return nullptr;
}

// Of a payload that was copied out of the peer's memory.
bool ShmLink::write_answer(const Slot& slot, std::byte* answer) {
  const iovec local{answer, slot.head.bytes};
  const iovec remote{reinterpret_cast<void*>(slot.address), slot.head.bytes};
  return ::process_vm_writev(peer_.pid, &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(slot.head.bytes);
}

// Where memory of the peer is mapped here; null when it is not.
std::byte* ShmLink::find_region(std::uint64_t address, std::uint64_t bytes) {
  const SegmentHeader& header = Layout::header(peer_.segment.data());
  const std::uint32_t version = header.regions_version.load(std::memory_order_acquire);
  if (version != regions_version_ && version % 2 == 0) read_regions(version);
  for (const Mapped& each : regions_) {
    const std::uint64_t from = each.region.address, size = each.region.bytes;
    if (address < from || address - from > size || bytes > size - (address - from)) continue;
    return each.mapping.data() + (address - from);
  }
  return nullptr;
}

void ShmLink::read_regions(std::uint32_t version) {
  const SegmentHeader& header = Layout::header(peer_.segment.data());
  std::array<Region, kMaxRegions> table;
  std::memcpy(table.data(), header.regions, sizeof table);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (header.regions_version.load(std::memory_order_relaxed) != version) return;  // next time
  regions_version_ = version;
  const auto same = [](const Region& a, const Region& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  };
  std::erase_if(regions_, [&](const Mapped& each) {
    return std::none_of(table.begin(), table.end(),
                        [&](const Region& region) { return same(region, each.region); });
  });
  for (const Region& region : table) {
    const auto is_it = [&](const Mapped& each) { return same(region, each.region); };
    if (region.bytes == 0 || std::any_of(regions_.begin(), regions_.end(), is_it)) continue;
    const std::string path =
        "/proc/" + std::to_string(peer_.pid) + "/fd/" + std::to_string(region.fd);
    const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    // Sealed, so that the mapping stays readable whatever the peer does.
    const bool is_sealed = fd.valid() && ::fstat(fd.get(), &status) == 0 &&
                           (::fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK) != 0;
    if (!is_sealed || static_cast<std::uint64_t>(status.st_size) < region.bytes) continue;
    Mapping mapping = Mapping::of(fd.get(), region.bytes, PROT_READ | PROT_WRITE, MAP_POPULATE);
    if (mapping.data() != nullptr) regions_.push_back({region, std::move(mapping)});
  }
}

}  // namespace dtl::ring
