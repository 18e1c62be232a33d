// The magic number is written last: an agent that finds the page earlier looks again later.
#include "ring/queue/state_note.h"

#include <atomic>
#include <new>
#include <utility>

namespace dtl::ring {

void StateNote::show(std::uint64_t id, int rank, int world) {
  // Numbers all communicators of this process, so that the agent can distinguish them.
  static std::atomic<std::uint64_t> numbers{0};
  SharedPage shared(kStatePageName, kStatePageBytes);
  if (shared.data() == nullptr) return;
  auto* page = new (shared.data()) StatePage;
  page->rank = static_cast<std::uint32_t>(rank);
  page->world = static_cast<std::uint32_t>(world);
  page->id = id;
  page->number = ++numbers;
  std::atomic_thread_fence(std::memory_order_release);
  page->magic = kStatePageMagic;
  shared_ = std::move(shared);
  page_ = page;
}

}  // namespace dtl::ring
