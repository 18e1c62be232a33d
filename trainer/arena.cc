#include "trainer/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace dtl::trainer {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = 2U << 20;
constexpr std::size_t kChunk = 16U << 20;

}  // namespace

void* Arena::take_bytes(std::size_t bytes) {
  const std::size_t rounded = (bytes + kLine - 1) / kLine * kLine;
  for (; chunk_ < chunks_.size(); ++chunk_, used_ = 0) {
    if (used_ + rounded <= chunks_[chunk_].bytes) {
      void* at = static_cast<char*>(chunks_[chunk_].memory.get()) + used_;
      used_ += rounded;
      return at;
    }
  }
  const std::size_t size = (std::max(rounded, kChunk) + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, size);
  if (!memory) throw std::bad_alloc();
  ::madvise(memory, size, MADV_HUGEPAGE);  // only speed depends on it
  chunks_.push_back({std::unique_ptr<void, Free>(memory), size});
  used_ = rounded;
  return memory;
}

void Arena::reset() {
  chunk_ = 0;
  used_ = 0;
}

}  // namespace dtl::trainer
