#pragma once
// LinkEnd: one end of a link between launcher and agent. The link's stream can be lost and replaced
// without losing or repeating a frame. Both ends number their frames from 0 across all streams, and
// keep sent frames until the other end acknowledges them. On a new stream each end says how many
// frames it has received, and the other sends the rest again. Pure.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/frame.h"
#include "wire/messages.h"

namespace dtl {

class LinkEnd {
 public:
  // Bytes of kept frames. At this limit an end sends only heartbeats and receipts until the other
  // end acknowledges more.
  static constexpr std::size_t kMostKept = 8 << 20;
  // At most this many bytes arrive between two receipts; a heartbeat adds one if any frame arrived.
  static constexpr std::size_t kReceiptBytes = 256 << 10;

  void keep() { keeps_ = true; }  // frames sent from here on
  bool keeps() const { return keeps_; }

  // ---- while there is a stream
  // Numbers a frame that is about to be sent.
  void number(Frame& frame);
  bool is_full() const { return kept_bytes_ >= kMostKept; }
  // The next frame of the other end has arrived.
  void took(std::size_t bytes);
  // The receipt that is due now, if any.
  std::optional<Received> receipt(bool with_heartbeat);
  // The other end has received this many of our frames. False if that is impossible: more than we
  // sent.
  bool acknowledge(std::uint64_t received);
  std::uint64_t received() const { return received_; }  // frames
  std::uint64_t sent() const { return sent_; }

  // ---- on another stream
  // Agent: whether the offer comes from its launcher and is newer than all before it.
  ResumeAnswer admit(const Resume& offer, std::string_view token);
  // Launcher: the next offer. Its number must be higher than before; answers to earlier offers no
  // longer count.
  Resume offer(std::string_view token, std::uint32_t attempt);
  bool is_answer(const Resumed& answer) const {
    return answer.answer == ResumeAnswer::kResumed && answer.attempt == attempt_;
  }
  // The frames that the other end lacks, in order and with their numbers; nullopt if it asks for
  // frames that are no longer kept or were never sent.
  std::optional<std::vector<Frame>> resume(std::uint64_t received);

 private:
  bool keeps_ = false;
  std::uint64_t sent_ = 0, received_ = 0;
  std::deque<Frame> kept_;  // the most recently sent frames
  std::size_t kept_bytes_ = 0;
  std::size_t unsaid_bytes_ = 0;  // arrived since the last receipt
  std::uint64_t said_ = 0;        // frames acknowledged by the last receipt
  std::uint32_t attempt_ = 0;     // the last one offered or admitted
};

}  // namespace dtl
