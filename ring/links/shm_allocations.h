#pragma once
// ShmAllocations: what dt_alloc gave of a rank's shared memory. A table in the rank's segment says
// where it is, and peers map it, so that they read and write it without a system call. Owned by the
// ShmNode; from any thread. Knows nothing of peers.

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "ring/links/shm_segment.h"

namespace dtl::ring {

// A memfd that can neither shrink nor grow. A peer that has mapped it would get SIGBUS if its owner
// made it shorter. Invalid: errno says why.
Fd sealed_memory(const char* name, std::size_t bytes);

class ShmAllocations {
 public:
  explicit ShmAllocations(SegmentHeader& header) : header_(header) {}

  // Page-aligned. Null where there is no memory, not an exception.
  void* alloc(std::size_t bytes);
  // False: alloc() has not given it.
  bool free(void* memory);
  // Whether it lies in what alloc() gave. Asked for every frame that is sent, so it should stay
  // cheap.
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
