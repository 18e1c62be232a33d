#pragma once
// ShmAllocations: what dt_alloc gave of a rank's shared memory: peers map it, as the table in the
// rank's segment says where it is. Owned by the ShmNode; from any thread. Knows nothing of peers.

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "ring/links/shm_segment.h"

namespace dtl::ring {

// A memfd that can neither shrink nor grow; invalid: errno says why.
Fd sealed_memory(const char* name, std::size_t bytes);

class ShmAllocations {
 public:
  explicit ShmAllocations(SegmentHeader& header) : header_(header) {}

  void* alloc(std::size_t bytes);
  bool free(void* memory);
  bool contains(const std::byte* data) const;

 private:
  struct Allocation {
    Fd memory;
    Mapping mapping;
    std::size_t entry = 0;
  };
  void publish(std::size_t entry, const Region& region);

  SegmentHeader& header_;
  mutable std::mutex mutex_;
  std::vector<Allocation> all_;
};

}  // namespace dtl::ring
