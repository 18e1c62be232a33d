// Blocks that were not freed are freed with the communicator, as dtring.h promises.
#include "ring/api/comm_memory.h"

#include <algorithm>
#include <cstdlib>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// The maximum of ranks that share memory on a node. A segment has room for each of them; with more
// ranks the node uses TCP.
constexpr int kMaxLocal = 1024;
constexpr std::size_t kPage = 4096;  // bytes

}  // namespace

CommMemory::~CommMemory() {
  for (void* block : blocks_) std::free(block);
}

void CommMemory::share(int world) {
  try {
    node_ = std::make_unique<ShmNode>(std::min(world, kMaxLocal));
  } catch (const CommError& error) {
    note_ = error.what();
  }
}

void* CommMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (node_ != nullptr) return node_->allocations().alloc(bytes);
  void* block = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  const std::lock_guard lock(mutex_);
  if (block != nullptr) blocks_.push_back(block);
  return block;
}

int CommMemory::release(void* memory) {
  if (memory == nullptr) return DT_OK;
  if (node_ != nullptr) return node_->allocations().free(memory) ? DT_OK : DT_E_INVAL;
  const std::lock_guard lock(mutex_);
  const auto at = std::find(blocks_.begin(), blocks_.end(), memory);
  if (at == blocks_.end()) return DT_E_INVAL;
  std::free(*at);
  blocks_.erase(at);
  return DT_OK;
}

}  // namespace dtl::ring
