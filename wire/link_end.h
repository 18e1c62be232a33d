#pragma once
// LinkEnd: one end of a link between launcher and agent whose stream can be lost and replaced by
// another one, without a frame being lost or coming twice. Both ends number their frames, from 0 up
// over all streams, and keep what they have sent until the other end has said that it has it. On
// another stream each says how many frames it has received, and is sent the rest again. Pure.

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
  // Bytes of frames that are kept. An end that keeps this much sends only signs of life until the
  // other one has said how far it has come.
  static constexpr std::size_t kMostKept = 8 << 20;
  // How many bytes may come between two receipts; a heartbeat brings one if any frame has come.
  static constexpr std::size_t kReceiptBytes = 256 << 10;

  void keep() { keeps_ = true; }  // what is sent, from here on
  bool keeps() const { return keeps_; }

  // ---- while there is a stream
  // For a frame that is about to be sent: gives it its number.
  void number(Frame& frame);
  bool is_full() const { return kept_bytes_ >= kMostKept; }
  // The next frame of the other end has come.
  void took(std::size_t bytes);
  // The receipt that is due now, if any.
  std::optional<Received> receipt(bool with_heartbeat);
  // The other end has received this many of our frames. False: that cannot be, as it is more than
  // we have sent.
  bool acknowledge(std::uint64_t received);
  std::uint64_t received() const { return received_; }  // frames
  std::uint64_t sent() const { return sent_; }

  // ---- on another stream
  // The agent's end: whether the offer is its launcher's, and newer than every one before it.
  ResumeAnswer admit(const Resume& offer, std::string_view token);
  // The launcher's end: the next offer to make, of a higher number than the ones before it, whose
  // answers no longer count.
  Resume offer(std::string_view token, std::uint32_t attempt);
  bool is_answer(const Resumed& answer) const {
    return answer.answer == ResumeAnswer::kResumed && answer.attempt == attempt_;
  }
  // The frames that the other end lacks, in order and with their numbers; nullopt: it asks for some
  // that are not kept, or that were never sent.
  std::optional<std::vector<Frame>> resume(std::uint64_t received);

 private:
  bool keeps_ = false;
  std::uint64_t sent_ = 0, received_ = 0;
  std::deque<Frame> kept_;  // the last of those that were sent
  std::size_t kept_bytes_ = 0;
  std::size_t unsaid_bytes_ = 0;  // that have come since the last receipt
  std::uint64_t said_ = 0;        // frames, by the last receipt
  std::uint32_t attempt_ = 0;     // the last one that was made, or admitted
};

}  // namespace dtl
