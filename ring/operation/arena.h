#pragma once
// Arena: memory of one operation at a time. Grows if an operation needs more than all before it;
// never shrinks, and never moves, since plans keep pointers into it. So in the long run operations
// allocate nothing. One thread.

#include <cstddef>
#include <vector>

#include "ring/operation/scratch.h"

namespace dtl::ring {

class Arena {
 public:
  // Aligned to a cache line; throws CommError(DT_E_NOMEM).
  std::byte* take(std::size_t bytes) {
    constexpr std::size_t kLine = 64, kLeast = 64 << 10;
    bytes = (bytes + kLine - 1) & ~(kLine - 1);
    for (; chunk_ < chunks_.size(); ++chunk_, used_ = 0) {
      if (chunks_[chunk_].bytes() - used_ < bytes) continue;
      used_ += bytes;
      return chunks_[chunk_].data() + used_ - bytes;
    }
    chunks_.emplace_back(bytes < kLeast ? kLeast : bytes);
    used_ = bytes;
    return chunks_[chunk_].data();
  }
  void reset() { chunk_ = used_ = 0; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Scratch& chunk : chunks_) sum += chunk.bytes();
    return sum;
  }

 private:
  std::vector<Scratch> chunks_;
  std::size_t chunk_ = 0, used_ = 0;
};

}  // namespace dtl::ring
