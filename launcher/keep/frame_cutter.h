#pragma once
// FrameCutter: finds the end of a conversation in a stream of frames that others read: the last
// byte of the first frame of a given type. It tells the holder when a kept agent is free again.
// Parses only headers. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dtl {

class FrameCutter {
 public:
  explicit FrameCutter(std::uint16_t last_type) : last_type_(last_type) {}

  // How many of these bytes belong to the conversation: all until its last frame has arrived.
  std::size_t feed(std::string_view bytes);
  bool done() const { return done_; }

 private:
  std::uint16_t last_type_;
  std::string header_;         // the received part of the next one
  std::size_t body_left_ = 0;  // of the current frame
  bool last_ = false, done_ = false;
};

}  // namespace dtl
