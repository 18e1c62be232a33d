#pragma once
// TcpSender: the frame that is being sent over one connection of a TcpLink. Owned by the link, used
// by whoever drives the engine; nothing here blocks. Knows nothing of what the connection receives,
// nor of which connection a frame should take.

#include <cstddef>

#include "ring/links/channel.h"
#include "ring/links/link.h"

namespace dtl::ring {

class TcpSender {
 public:
  explicit TcpSender(int peer) : peer_(peer) {}  // what Sink hears

  void set_ready() { writable_ = true; }
  bool can_begin() const { return !is_sending_ && writable_ && is_open_; }
  void begin(const FrameHead& head, const OperationHeader* operation, const std::byte* payload);
  bool is_sent() const { return !(is_sending_ && is_open_); }
  bool step(Channel& channel, Sink& sink) {  // true when anything moved
    return is_sending_ && writable_ && is_open_ && push(channel, sink);
  }
  // False: not all of it could be said now.
  bool say_farewell(Channel& channel, const FrameHead& farewell);

 private:
  bool push(Channel& channel, Sink& sink);

  int peer_;
  bool writable_ = true, is_open_ = true, is_sending_ = false;
  FrameHead head_;
  OperationHeader operation_;
  const std::byte* payload_ = nullptr;
  std::size_t sent_ = 0;
  std::size_t farewell_sent_ = 0;
};

}  // namespace dtl::ring
