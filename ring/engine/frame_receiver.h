#pragma once
// FrameReceiver: decides where the payload of a frame goes, checks that its peer executes the same
// operation, and tracks the progress of flows. Owned by the Executor; used by the driving thread.
// Knows nothing of sending. A frame that must wait stays in its link, which asks again: so nothing
// is buffered here for operations that have not begun.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ring/engine/active_operations.h"
#include "ring/engine/frame_buffers.h"
#include "ring/engine/frame_values.h"
#include "ring/engine/link_findings.h"

namespace dtl::ring {

class FrameReceiver {
 public:
  FrameReceiver(int world, const ActiveOperations& operations, FrameBuffers& buffers,
                LinkFindings& findings)
      : operations_(operations), buffers_(buffers), findings_(findings), values_(world) {}

  // As Sink's.
  std::optional<std::byte*> admit(int peer, const FrameHead& head,
                                  const OperationHeader* operation);
  void arrived(int peer, const FrameHead& head, std::byte* payload);
  bool advance_sums();                            // true if any has grown
  std::uint64_t bytes() const { return bytes_; }  // received so far

 private:
  using Found = ActiveOperations::Found;
  // Null piece: no piece fits the frame, so the peer sends garbage.
  struct Place {
    Incoming* piece = nullptr;
    std::uint64_t offset = 0;  // of the frame in the piece, in wire bytes
  };
  bool is_agreed(int peer, Found found, const OperationHeader& theirs);
  std::optional<std::byte*> destination_of(const FrameHead& head, const ActiveOperation& active,
                                           Flow& flow, const Place& place);
  static Place place_of(const ActiveOperation& active, Flow& flow, const FrameHead& head);
  static bool has_window(const ActiveOperation& active, const Incoming& piece, std::uint64_t end);

  const ActiveOperations& operations_;
  FrameBuffers& buffers_;
  LinkFindings& findings_;
  FrameValues values_;
  std::uint64_t bytes_ = 0;
};

}  // namespace dtl::ring
