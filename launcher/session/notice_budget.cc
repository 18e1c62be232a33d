// Counts time in whole refills; the remainder counts towards the next one.
#include "launcher/session/notice_budget.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dtl {

std::optional<std::string> NoticeBudget::admit(std::string text, JobTime now) {
  const auto grown = (now - refilled_) / kRefill;
  refilled_ = room_ + grown >= kMost ? now : refilled_ + grown * kRefill;
  room_ = static_cast<int>(std::min<std::int64_t>(room_ + grown, kMost));
  if (room_ == 0) {
    if (++left_out_ > 1) return std::nullopt;
    return "too many notices; from here on some are only counted";
  }
  --room_;
  if (text.size() > kMaxBytes) {
    std::size_t end = kMaxBytes;
    // Do not split a UTF-8 character.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  return text;
}

}  // namespace dtl
