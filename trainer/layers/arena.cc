// Reserves addresses once (PROT_NONE) and makes them usable in steps (mprotect). The range never
// moves, so pointers from take() stay valid while the arena grows.
#include "trainer/layers/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace dtl::trainer {
namespace {

// Size of a cache line. Tensors do not share one, so that threads do not slow each other down.
constexpr std::size_t kLine = 64;
constexpr std::size_t kStep = 32U << 20;  // 16 huge pages
// Addresses are free, but a limit (ulimit -v) may allow fewer.
constexpr std::size_t kMostAddresses = std::size_t{1} << 40,
                      kFewestAddresses = std::size_t{1} << 28;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Arena::Arena() {
  for (std::size_t bytes = kMostAddresses; bytes >= kFewestAddresses; bytes /= 2) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    // Halve it until it fits the limit.
    if (memory == MAP_FAILED) continue;
    memory_ = static_cast<char*>(memory);
    reserved_ = bytes;
    return;
  }
  throw std::bad_alloc();
}

Arena::~Arena() {
  ::munmap(memory_, reserved_);
}

// Makes at least the first `bytes` bytes usable. Pages take memory only on first use.
void Arena::grow(std::size_t bytes) {
  const std::size_t wanted = std::min(round_up(bytes, kStep), reserved_);
  if (bytes > wanted ||
      ::mprotect(memory_ + usable_, wanted - usable_, PROT_READ | PROT_WRITE) != 0) {
    throw std::bad_alloc();
  }
  ::madvise(memory_ + usable_, wanted - usable_, MADV_HUGEPAGE);  // failure affects only speed
  usable_ = wanted;
}

void* Arena::take_bytes(std::size_t bytes) {
  // Check first: a huge request would overflow the sum below.
  if (bytes > reserved_) throw std::bad_alloc();
  const std::size_t end = used_ + round_up(bytes, kLine);
  if (end > usable_) grow(end);
  void* const taken = memory_ + used_;
  used_ = end;
  return taken;
}

}  // namespace dtl::trainer
