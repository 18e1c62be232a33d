// A header may be split between two reads, so it is collected byte by byte. Bodies, nearly all of
// the bytes, are skipped at once.
#include "launcher/keep/frame_cutter.h"

#include <algorithm>

namespace dtl {
namespace {

constexpr std::size_t kHeaderBytes = 16;  // PROTOCOL.md: u32 length, u16 type, ...

std::size_t byte_at(const std::string& text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

std::size_t FrameCutter::feed(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !done_) {
    if (body_left_ > 0) {
      const std::size_t size = std::min(body_left_, bytes.size() - at);
      at += size;
      body_left_ -= size;
    } else {
      header_ += bytes[at++];
      if (header_.size() < kHeaderBytes) continue;
      body_left_ = byte_at(header_, 0) | byte_at(header_, 1) << 8 | byte_at(header_, 2) << 16 |
                   byte_at(header_, 3) << 24;
      last_ = (byte_at(header_, 4) | byte_at(header_, 5) << 8) == last_type_;
      header_.clear();
    }
    // The last frame may have no body; its header is then the end.
    done_ = last_ && body_left_ == 0;
  }
  return at;
}

}  // namespace dtl
