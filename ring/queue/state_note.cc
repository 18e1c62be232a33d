// Sealed, because an agent that has mapped the page must not get SIGBUS if the program truncates
// it.
#include "ring/queue/state_note.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <utility>

namespace dtl::ring {

void StateNote::show(std::uint64_t id, int rank, int world) {
  // Numbers all communicators of this process, so that the agent can distinguish them.
  static std::atomic<std::uint64_t> numbers{0};
  Fd fd(::memfd_create(kStatePageName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), kStatePageBytes) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return;
  }
  Mapping mapping = Mapping::of(fd.get(), kStatePageBytes, PROT_READ | PROT_WRITE, 0);
  if (mapping.data() == nullptr) return;
  auto* page = new (mapping.data()) StatePage;
  page->rank = static_cast<std::uint32_t>(rank);
  page->world = static_cast<std::uint32_t>(world);
  page->id = id;
  page->number = ++numbers;
  std::atomic_thread_fence(std::memory_order_release);
  page->magic = kStatePageMagic;  // last: an agent that finds it earlier looks again later
  mapping_ = std::move(mapping);
  fd_ = std::move(fd);
  page_ = page;
}

}  // namespace dtl::ring
