#pragma once
// FrameCutter: finds the end of a conversation in a stream of frames that somebody else reads. The
// end is the last byte of the first frame of a given type. The holder needs it to know when a kept
// agent is free again. Looks at headers only. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dtl {

class FrameCutter {
 public:
  explicit FrameCutter(std::uint16_t last_type) : last_type_(last_type) {}

  // How many of these bytes belong to the conversation: all of them until its last frame has come.
  std::size_t feed(std::string_view bytes);
  bool done() const { return done_; }

 private:
  std::uint16_t last_type_;
  std::string header_;         // of the next frame, as far as it has come
  std::size_t body_left_ = 0;  // of the current frame
  bool last_ = false, done_ = false;
};

}  // namespace dtl
