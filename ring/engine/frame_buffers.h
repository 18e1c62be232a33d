#pragma once
// FrameBuffers: memory for frames that cannot move directly from or to a caller's buffer: those in
// another format, and those that are summed on arrival. Reused; as many as were ever needed at
// once, limited by the number of frames in the links. Used by the driving thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/links/link.h"
#include "ring/operation/flow.h"
#include "ring/operation/scratch.h"

namespace dtl::ring {

class FrameBuffers {
 public:
  // Of kMostFrameBytes. Throws CommError without memory.
  std::byte* take() {
    if (free_.empty()) {
      buffers_.emplace_back(kMostFrameBytes);
      free_.push_back(buffers_.back().data());
    }
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  // Returns the buffer of the frame at this offset, if it has one: most frames do not.
  void give_back(std::vector<Held>& held, std::uint64_t offset) {
    const auto at = std::find_if(held.begin(), held.end(),
                                 [&](const Held& each) { return each.offset == offset; });
    if (at == held.end()) return;
    free_.push_back(at->buffer);
    held.erase(at);
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Scratch& buffer : buffers_) sum += buffer.bytes();
    return sum;
  }

 private:
  std::vector<Scratch> buffers_;
  std::vector<std::byte*> free_;
};

}  // namespace dtl::ring
