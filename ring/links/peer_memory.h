#pragma once
// PeerMemory: the memory of a rank of the same node as it is read from here: mapped, where dt_alloc
// gave it, else by the kernel (process_vm_readv). Owned by the ShmLink. Knows nothing of frames and
// of slots.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/links/shm_segment.h"

namespace dtl::ring {

class PeerMemory {
 public:
  // segment: the peer's, mapped here for longer than this lives.
  PeerMemory(int pid, std::byte* segment) : pid_(pid), segment_(segment) {}

  // Where this many bytes of the peer can be read: in its own memory, or at target, to which they
  // were copied. Null: neither, and errno says why; the peer may have died.
  std::byte* read(std::uint64_t address, std::size_t bytes, std::byte* target);
  // Over what was copied out; false: not all of it could be written.
  bool write(std::uint64_t address, std::size_t bytes, std::byte* from) const;
  // After something was read: whether its owner may have changed it meanwhile.
  bool has_left() const;

 private:
  struct Mapped {
    Region region;
    Mapping mapping;
  };
  std::byte* find_region(std::uint64_t address, std::uint64_t bytes);
  void read_regions(std::uint32_t version);

  const int pid_;
  std::byte* const segment_;
  std::uint32_t regions_version_ = 0;
  std::vector<Mapped> regions_;
};

}  // namespace dtl::ring
