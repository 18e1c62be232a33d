#pragma once
// TcpSender: sends the frames of one connection of a TcpLink, one at a time, so that a lane's next
// frame can still take a faster stream. Owned by the link, used by the driving thread; nothing here
// blocks. Knows nothing of what the connection receives, nor of the choice of connections.

#include <cstddef>

#include "ring/links/channel.h"
#include "ring/links/link.h"

namespace dtl::ring {

class TcpSender {
 public:
  explicit TcpSender(int peer) : peer_(peer) {}  // for Sink

  void set_ready() { writable_ = true; }
  bool can_begin() const { return !is_sending_ && writable_ && is_open_; }
  // Only while can_begin(). Sends nothing before step().
  void begin(const FrameHead& head, const OperationHeader* operation, const std::byte* payload);
  bool is_sent() const { return !(is_sending_ && is_open_); }
  bool step(Channel& channel, Sink& sink) {  // true if anything moved
    return wants_step() && push(channel, sink);
  }
  bool wants_step() const { return is_sending_ && writable_ && is_open_; }
  // After the last frame. False: could not be sent completely now. Also true if the connection has
  // failed, since the peer cannot be told.
  bool say_farewell(Channel& channel, const FrameHead& farewell);

 private:
  bool push(Channel& channel, Sink& sink);

  int peer_;
  // writable_ holds from one edge of epoll until the socket is full. is_open_ ends with the first
  // error that is not about room.
  bool writable_ = true, is_open_ = true, is_sending_ = false;
  FrameHead head_;
  OperationHeader operation_;
  const std::byte* payload_ = nullptr;
  std::size_t sent_ = 0;
  std::size_t farewell_sent_ = 0;
};

}  // namespace dtl::ring
