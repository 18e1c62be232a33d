#pragma once
// CommMemory: the memory that dt_alloc returns: shared with the ranks of this node if they are
// connected by a ShmNode, else private, so that programs need not care which. Owned by the Comm;
// outlives its engine, whose links point into it. Does not know which ranks share it.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ring/links/shm_node.h"

namespace dtl::ring {

class CommMemory {
 public:
  CommMemory() = default;
  ~CommMemory();
  CommMemory(const CommMemory&) = delete;
  CommMemory& operator=(const CommMemory&) = delete;

  // Call it before any allocation. On failure it sets a note instead of throwing: the ranks of the
  // node then use TCP, which is slower but works.
  void share(int world);
  ShmNode* node() const { return node_.get(); }  // null: not shared
  // Why ranks of this node do not share memory; empty: they do, or sharing is off.
  const std::string& note() const { return note_; }

  // From any thread. Null if there is no memory.
  void* allocate(std::size_t bytes);
  int release(void* memory);  // a dt_status

 private:
  std::unique_ptr<ShmNode> node_;
  std::string note_;
  std::mutex mutex_;
  std::vector<void*> blocks_;  // used without a node
};

}  // namespace dtl::ring
