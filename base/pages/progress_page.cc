// A sequence lock: a reader takes no values that belong to different steps, and no writer waits.
#include "base/pages/progress_page.h"

#include <mutex>
#include <new>

#include "base/pages/shared_page.h"

namespace dtl {
namespace {

constexpr int kMostLooks = 100;

TrainingProgress values_of(const ProgressPage& page) {
  TrainingProgress progress;
  progress.step = page.step.load(std::memory_order_relaxed);
  progress.total_steps = page.total_steps.load(std::memory_order_relaxed);
  progress.tokens = page.tokens.load(std::memory_order_relaxed);
  progress.loss = page.loss.load(std::memory_order_relaxed);
  return progress;
}

}  // namespace

bool tell_progress(const TrainingProgress& progress) {
  static std::mutex mutex;
  // Never destroyed: other threads may tell while the process ends.
  static auto* const memory = new SharedPage(kProgressPageName, kProgressPageBytes);
  if (memory->data() == nullptr) return false;
  static auto* const page = new (memory->data()) ProgressPage;
  const std::lock_guard lock(mutex);
  page->version.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  page->step.store(progress.step, std::memory_order_relaxed);
  page->total_steps.store(progress.total_steps, std::memory_order_relaxed);
  page->tokens.store(progress.tokens, std::memory_order_relaxed);
  page->loss.store(progress.loss, std::memory_order_relaxed);
  page->version.fetch_add(1, std::memory_order_release);
  std::atomic_ref(page->magic).store(kProgressPageMagic, std::memory_order_release);
  return true;
}

std::optional<TrainingProgress> read_progress(const std::string& path) {
  if (!has_page_name(path, kProgressPageName)) return std::nullopt;
  const SeenMemory memory(path, kProgressPageBytes);
  const auto* page = static_cast<const ProgressPage*>(memory.data());
  if (page == nullptr || page->magic != kProgressPageMagic) return std::nullopt;
  for (int look = 0; look < kMostLooks; ++look) {
    const std::uint64_t before = page->version.load(std::memory_order_acquire);
    const TrainingProgress progress = values_of(*page);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && page->version.load(std::memory_order_relaxed) == before) {
      return progress;
    }
  }
  return std::nullopt;
}

}  // namespace dtl
