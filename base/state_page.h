#pragma once
// StatePage: the part of its state that a communicator of libdtring shows to its node's agent. It
// lies in a page of shared memory without a name in any folder: a memfd, found below /proc/PID/fd
// by kStatePageName. So only someone who may look into the process sees it. libdtring writes it
// with plain stores and reads no clock for it, because short operations take about a microsecond.
// An agent that looks twice knows for how long nothing has changed.
//
// The number at the name's end is the layout's: another layout has another name. dtring(3) says
// which field is where.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dtl {

constexpr const char* kStatePageName = "dtring-state-1";
constexpr std::uint32_t kStatePageMagic = 0x61735444;  // "DTsa"
constexpr std::size_t kStatePageBytes = 4096;          // of the memfd, sealed against shrinking

struct StatePage {
  std::uint32_t magic = 0;
  std::uint32_t rank = 0, world = 0;  // of the communicator
  std::uint32_t reserved = 0;
  std::uint64_t id = 0;      // the same on all of its ranks
  std::uint64_t number = 0;  // of this process's communicators, in the order of their making
  // By the thread that submits: the number of the latest collective, from 1 up, and which it is:
  // number << 8 | opcode (ring/links/operation_header.h). Another thread may write the fields
  // below, so each of the two has a cache line of its own.
  alignas(64) std::atomic<std::uint64_t> begun{0};
  // By the thread that drives: the collectives up to this one are complete; bytes sent and
  // received.
  alignas(64) std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint32_t> is_over{0};  // it has failed, and nobody waits in it any more
};
static_assert(sizeof(StatePage) <= kStatePageBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace dtl
