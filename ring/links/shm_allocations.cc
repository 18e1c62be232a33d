// The table is a seqlock: the owner writes it under a mutex, and peers, which cannot take that
// mutex, read it again when the version has changed.
#include "ring/links/shm_allocations.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace dtl::ring {

Fd sealed_memory(const char* name, std::size_t bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return {};
  }
  return fd;
}

void* ShmAllocations::alloc(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  Allocation allocation;
  allocation.memory = sealed_memory("dtring-alloc", bytes);
  if (!allocation.memory.valid()) return nullptr;
  allocation.mapping = Mapping::of(allocation.memory.get(), bytes, PROT_READ | PROT_WRITE, 0);
  std::byte* const data = allocation.mapping.data();
  if (data == nullptr) return nullptr;
  // Both are wishes. Pages that exist before the first operation cost it no page faults; the second
  // is known to Linux 5.14 and later.
  (void)::madvise(data, bytes, MADV_HUGEPAGE);
  (void)::madvise(data, bytes, MADV_POPULATE_WRITE);
  const std::lock_guard lock(mutex_);
  // Where all entries are taken, peers read the memory through the kernel as they read any other.
  const auto* const free = std::find_if(std::begin(header_.regions), std::end(header_.regions),
                                        [](const Region& region) { return region.bytes == 0; });
  allocation.entry = static_cast<std::size_t>(free - header_.regions);
  if (allocation.entry < kMaxRegions) {
    publish(allocation.entry, {reinterpret_cast<std::uintptr_t>(data), bytes,
                               allocation.memory.get(), free->generation + 1});
  }
  all_.push_back(std::move(allocation));
  return data;
}

// Peers read the table while it changes: an odd version tells them not to believe it. The
// generation in an entry tells them that the same address and descriptor number mean other memory.
void ShmAllocations::publish(std::size_t entry, const Region& region) {
  const std::uint32_t version = header_.regions_version.load();
  header_.regions_version.store(version + 1);
  std::atomic_thread_fence(std::memory_order_release);
  header_.regions[entry] = region;
  header_.regions_version.store(version + 2, std::memory_order_release);
}

bool ShmAllocations::contains(const std::byte* data) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(), [&](const Allocation& each) {
    return data >= each.mapping.data() && data < each.mapping.data() + each.mapping.bytes();
  });
}

bool ShmAllocations::free(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(all_.begin(), all_.end(), [&](const Allocation& each) {
    return each.mapping.data() == memory;
  });
  if (at == all_.end()) return false;
  if (at->entry < kMaxRegions) {
    Region gone = header_.regions[at->entry];
    gone.bytes = 0;
    publish(at->entry, gone);
  }
  // A peer that still maps it keeps the pages alive, so that it reads old bytes and never faults.
  all_.erase(at);
  return true;
}

}  // namespace dtl::ring
