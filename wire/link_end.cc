// Numbers are counts: `received` is also the number of the next expected frame. kept_ holds the
// frames sent_ - kept_.size() .. sent_ - 1, in order.
#include "wire/link_end.h"

#include <string>

namespace dtl {

void LinkEnd::number(Frame& frame) {
  set_frame_sequence(frame, static_cast<std::uint32_t>(sent_));
  ++sent_;
  if (!keeps_) return;
  // A copy: the frame itself is about to be written.
  kept_.push_back(frame);
  kept_bytes_ += frame.size();
}

void LinkEnd::took(std::size_t bytes) {
  ++received_;
  unsaid_bytes_ += bytes;
}

std::optional<Received> LinkEnd::receipt(bool with_heartbeat) {
  if (!keeps_ || said_ == received_) return std::nullopt;
  if (!with_heartbeat && unsaid_bytes_ < kReceiptBytes) return std::nullopt;
  said_ = received_;
  unsaid_bytes_ = 0;
  return Received{received_};
}

bool LinkEnd::acknowledge(std::uint64_t received) {
  if (received > sent_) return false;
  while (!kept_.empty() && sent_ - kept_.size() < received) {
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
  return true;
}

ResumeAnswer LinkEnd::admit(const Resume& offer, std::string_view token) {
  // An older attempt may arrive after a newer one has taken over the link.
  if (offer.token != token || offer.attempt <= attempt_) return ResumeAnswer::kRefused;
  attempt_ = offer.attempt;
  return ResumeAnswer::kResumed;
}

Resume LinkEnd::offer(std::string_view token, std::uint32_t attempt) {
  attempt_ = attempt;
  return {std::string(token), attempt, received_};
}

std::optional<std::vector<Frame>> LinkEnd::resume(std::uint64_t received) {
  if (received < sent_ - kept_.size() || !acknowledge(received)) return std::nullopt;
  said_ = received_;  // the offer or its answer reports it
  unsaid_bytes_ = 0;
  return std::vector<Frame>(kept_.begin(), kept_.end());
}

}  // namespace dtl
