// A segment has slots for every rank of its node, so slots have to shrink as these grow: about 13
// MB with 16 ranks, 5 MB with 128, 17 MB with 1024. Ranks of other nodes count for nothing. Pages
// that are never used cost nothing.
#include "ring/links/shm_segment.h"

#include <sys/mman.h>

#include <algorithm>

namespace dtl::ring {
namespace {

// Up to so many ranks of a node, slots have one size.
constexpr std::size_t kFewLocals = 16, kManyLocals = 128;

}  // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Mapping Mapping::of(int fd, std::size_t bytes, int protection, int extra_flags) {
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED | extra_flags, fd, 0);
  return data == MAP_FAILED ? Mapping() : Mapping(static_cast<std::byte*>(data), bytes);
}

std::size_t Layout::most_bytes(std::size_t max_local) {
  std::size_t most = Layout(max_local).bytes;
  for (const std::size_t end : {kFewLocals, kManyLocals}) {
    most = std::max(most, Layout(std::min(end, max_local)).bytes);
  }
  return most;
}

Layout::Layout(std::size_t of_locals) : locals(of_locals) {
  constexpr std::size_t kPage = 4096;
  const auto to_page = [](std::size_t size) { return (size + kPage - 1) / kPage * kPage; };
  const std::size_t divisor = locals <= kFewLocals ? 1 : locals <= kManyLocals ? 8 : 32;
  inline_[0] = inline_[2] = 8192 / divisor;
  // Without room for them, long payloads are read out of the sender's memory.
  inline_[1] = locals <= kFewLocals ? 32768 : 0;
  counters_at_ = to_page(sizeof(SegmentHeader));
  board_at_ = counters_at_ + to_page(locals * sizeof(Counters));
  slots_at_ = board_at_ + to_page(board_values_at() + kBoardEntries * board_stride());
  pair_bytes = to_page(
      kSlots * (slot_bytes(Lane::kSmall) + slot_bytes(Lane::kBulk) + slot_bytes(Lane::kPair)));
  bytes = slots_at_ + locals * pair_bytes;
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
