#pragma once
// What lies where in the segment of a rank: a header, a pair of counters for each other rank, and
// slots for the frames to it. Only its owner writes it (but for answers, see ShmNode). All counters
// only grow. Peers of another version have another magic or layout and do not share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "ring/links/link.h"

namespace dtl::ring {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMaxRegions = 64;              // dt_alloc's that peers read without a copy
constexpr std::size_t kSlots = 16;                   // frames of one lane that wait for one peer
constexpr std::size_t kMaxCpus = 1024;               // further ones are not looked at
constexpr std::uint32_t kSegmentMagic = 0x67735444;  // "DTsg": the layout, raised when it changes
constexpr std::size_t kBoardEntries = 16;            // see ShmBoard
constexpr std::size_t kBoardBytes = 32 << 10;        // the most values of one of them

// A shared or private mapping; move only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  // Of a descriptor; empty when that fails (errno says why).
  static Mapping of(int fd, std::size_t bytes, int protection, int extra_flags);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// One of dt_alloc's allocations. bytes == 0: the entry is free. generation: grows with each use of
// the entry.
struct Region {
  std::uint64_t address = 0, bytes = 0;
  std::int32_t fd = -1;
  std::uint32_t generation = 0;
};

struct SegmentHeader {
  std::uint32_t magic = 0, max_local = 0;
  std::byte token[kTokenBytes] = {};
  std::uint64_t token_address = 0;         // of a copy in the owner's private memory
  std::uint64_t cpus[kMaxCpus / 64] = {};  // where the owner's threads may run
  alignas(64) std::atomic<std::uint32_t> sleeps{0};
  alignas(64) std::atomic<std::uint32_t> has_left{0};  // payloads may be changed by their owner
  alignas(64) std::atomic<std::uint32_t> regions_version{0};  // odd while they change
  Region regions[kMaxRegions];
};

// Of one pair and direction; `produced` is the sender's, `consumed` the receiver's, each in its own
// segment and on its own cache line, so that neither side slows down the other by writing.
struct Counters {
  alignas(64) std::atomic<std::uint64_t> produced[kLanes];
  alignas(64) std::atomic<std::uint64_t> consumed[kLanes];
};

// A whole number of cache lines, so that payloads behind it begin at one.
struct Slot {
  FrameHead head;
  std::uint32_t is_inline = 0;
  std::uint32_t reserved = 0;
  OperationHeader operation;
  std::uint64_t address = 0;  // of a payload that is not inline, in the sender
  std::uint64_t reserved_too[3] = {};
};
static_assert(sizeof(Slot) == 128);

// One operation of its owner; see ShmBoard. Alone on two lines, since processors fetch neighbours.
struct alignas(128) BoardEntry {
  std::byte operation[offsetof(OperationHeader, reserved_too)];  // the rest is zero
  std::byte values[8];                                           // if they fit
  std::atomic<std::uint64_t> number;
};
static_assert(kBoardEntries * sizeof(BoardEntry) <= 4096);
static_assert(sizeof(BoardEntry) == 128 && offsetof(BoardEntry, number) == 56);

// Follows from how many ranks the node has, which is known once all have met. Segments are made
// earlier, so that their addresses can be told at the meeting, and are as long as any layout needs.
struct Layout {
  explicit Layout(std::size_t locals);
  // The longest of nodes with at most this many ranks.
  static std::size_t most_bytes(std::size_t max_local);

  std::size_t locals;
  std::size_t pair_bytes;  // of all slots for one peer
  std::size_t bytes;       // of a segment that are used

  static constexpr std::size_t board_values_at() { return 4096; }
  // From the values of one entry to the next. Not a power of two, at which they would compete for
  // the same places in the cache.
  static constexpr std::size_t board_stride() { return kBoardBytes + 5 * 64; }
  static SegmentHeader& header(std::byte* segment) {
    return *std::launder(reinterpret_cast<SegmentHeader*>(segment));
  }
  // The longest payload that a slot of the lane holds.
  std::size_t inline_bytes(Lane lane) const { return inline_[static_cast<std::size_t>(lane)]; }
  // The entries, then, from board_values_at() on, kBoardBytes for each.
  std::byte* board(std::byte* segment) const { return segment + board_at_; }
  // About the peer at this place.
  Counters& counters(std::byte* segment, std::size_t local) const;
  Slot& slot(std::byte* segment, std::size_t local, Lane lane, std::uint64_t number) const;
  std::byte* payload(std::byte* segment, std::size_t local, Lane lane, std::uint64_t number) const;

 private:
  std::size_t slot_bytes(Lane lane) const { return sizeof(Slot) + inline_bytes(lane); }
  std::size_t inline_[kLanes];
  std::size_t counters_at_, board_at_, slots_at_;
};

}  // namespace dtl::ring
