#pragma once
// StatePage: the state that a communicator of libdtring shows to its node's agent. It is in a page
// of shared memory without a file name: a memfd, found in /proc/PID/fd by kStatePageName, so only a
// user with access to the process sees it. libdtring writes it with plain stores and reads no clock
// for it, because short operations take about a microsecond. An agent that looks twice knows how
// long nothing has changed.
//
// The number at the end of the name is the layout's version. dtring(3) describes the offsets.

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
  std::uint64_t number = 0;  // of this process's communicators, in order of creation
  // Written by the thread that submits: number << 8 | opcode (ring/links/operation_header.h) of the
  // latest collective, numbered from 1. Another thread may write the fields below, so the two parts
  // have separate cache lines.
  alignas(64) std::atomic<std::uint64_t> begun{0};
  // Written by the driving thread: all collectives up to this number are complete; bytes sent and
  // received.
  alignas(64) std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint32_t> is_over{0};  // it has failed, and nobody waits in it any more
};
static_assert(sizeof(StatePage) <= kStatePageBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace dtl
