#pragma once
// FrameSender: cuts the flows of active operations into frames and gives them to the links. Owned
// by the Executor; used by the driving thread. Of the received data it only knows gates: how much
// of a piece may be sent.
//
// On every link and lane operations begin in issue order, each when the one before has begun
// completely. All ranks issue in the same order. So a frame that waits for its operation, or for
// room in a window, does not block frames that others need for progress: no deadlock.

#include <cstdint>
#include <memory>
#include <vector>

#include "ring/engine/active_operations.h"
#include "ring/engine/frame_buffers.h"
#include "ring/links/link.h"

namespace dtl::ring {

class FrameSender {
 public:
  FrameSender(int world, FrameBuffers& buffers)
      : buffers_(buffers), busy_(static_cast<std::size_t>(world) * kLanes) {}

  // links: by rank; null where there is none. True if any frame began.
  bool begin_frames(const ActiveOperations& operations,
                    const std::vector<std::unique_ptr<Link>>& links);
  // A frame's payload is no longer needed.
  void finish(Flow& flow, const FrameHead& head);
  std::uint64_t bytes() const { return bytes_; }  // sent so far

 private:
  bool begin_frame(ActiveOperation& active, Flow& flow, Link& link);
  const std::byte* stage(const Operation& operation, Flow& flow, const Outgoing& piece,
                         const FrameHead& head);

  FrameBuffers& buffers_;
  std::vector<std::uint64_t> busy_;  // by rank and lane: the round in which it was used
  std::uint64_t round_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace dtl::ring
