#pragma once
// CommMemory: the memory that dt_alloc gives: shared with the ranks of this node where they reach
// each other by a ShmNode, else this process's own, so that programs need not care which. Owned by
// the Comm, and longer than its engine: links point into it. Does not know which ranks share it.

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

  // Before anything is allocated. Where it does not work there is a note instead of an error: the
  // ranks of the node then use TCP, which is slower and not wrong.
  void share(int world);
  ShmNode* node() const { return node_.get(); }  // null: not shared
  // Why ranks of this node are not reached by memory; empty: they are, or nobody wanted it.
  const std::string& note() const { return note_; }

  // From any thread. Null where there is no memory.
  void* allocate(std::size_t bytes);
  int release(void* memory);  // a dt_status

 private:
  std::unique_ptr<ShmNode> node_;
  std::string note_;
  std::mutex mutex_;
  std::vector<void*> blocks_;  // without a node
};

}  // namespace dtl::ring
