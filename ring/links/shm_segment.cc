// A segment has slots for every rank that a node may have, so slots have to shrink as these grow:
// about 13 MB with 16 ranks, 5 MB with 128, 17 MB with 1024. Pages that are never used cost
// nothing.
#include "ring/links/shm_segment.h"

#include <sys/mman.h>

namespace dtl::ring {

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Mapping Mapping::of(int fd, std::size_t bytes, int protection, int extra_flags) {
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED | extra_flags, fd, 0);
  return data == MAP_FAILED ? Mapping() : Mapping(static_cast<std::byte*>(data), bytes);
}

Layout::Layout(int of_locals) : max_local(static_cast<std::size_t>(of_locals)) {
  constexpr std::size_t kPage = 4096;
  const auto to_page = [](std::size_t size) { return (size + kPage - 1) / kPage * kPage; };
  const std::size_t divisor = max_local <= 16 ? 1 : max_local <= 128 ? 8 : 32;
  inline_[0] = inline_[2] = 8192 / divisor;
  // Without room for them, long payloads are read out of the sender's memory.
  inline_[1] = max_local <= 16 ? 32768 : 0;
  counters_at_ = to_page(sizeof(SegmentHeader));
  slots_at_ = counters_at_ + to_page(max_local * sizeof(Counters));
  pair_bytes = to_page(
      kSlots * (slot_bytes(Lane::kSmall) + slot_bytes(Lane::kBulk) + slot_bytes(Lane::kPair)));
  bytes = slots_at_ + max_local * pair_bytes;
}

Counters& Layout::counters(std::byte* segment, std::size_t local) const {
  return *std::launder(
      reinterpret_cast<Counters*>(segment + counters_at_ + local * sizeof(Counters)));
}

Slot& Layout::slot(std::byte* segment, std::size_t local, Lane lane, std::uint64_t number) const {
  std::byte* at = segment + slots_at_ + local * pair_bytes;
  for (std::size_t before = 0; before < static_cast<std::size_t>(lane); ++before) {
    at += kSlots * slot_bytes(static_cast<Lane>(before));
  }
  return *std::launder(reinterpret_cast<Slot*>(at + number % kSlots * slot_bytes(lane)));
}

std::byte* Layout::payload(std::byte* segment, std::size_t local, Lane lane,
                           std::uint64_t number) const {
  return reinterpret_cast<std::byte*>(&slot(segment, local, lane, number)) + sizeof(Slot);
}

}  // namespace dtl::ring
