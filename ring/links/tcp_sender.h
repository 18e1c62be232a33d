#pragma once
// TcpSender: the frame that is being sent over one connection of a TcpLink. It sends one frame at a
// time, so that a lane's next frame can still take a stream that is quicker. Owned by the link,
// used by whoever drives the engine; nothing here blocks. Knows nothing of what the connection
// receives, nor of which connection a frame should take.

#include <cstddef>

#include "ring/links/channel.h"
#include "ring/links/link.h"

namespace dtl::ring {

class TcpSender {
 public:
  explicit TcpSender(int peer) : peer_(peer) {}  // what Sink hears

  void set_ready() { writable_ = true; }
  bool can_begin() const { return !is_sending_ && writable_ && is_open_; }
  // Only while can_begin(). Nothing is sent before step().
  void begin(const FrameHead& head, const OperationHeader* operation, const std::byte* payload);
  bool is_sent() const { return !(is_sending_ && is_open_); }
  bool step(Channel& channel, Sink& sink) {  // true when anything moved
    return is_sending_ && writable_ && is_open_ && push(channel, sink);
  }
  // After the last frame. False: not all of it could be said now. True also where the connection
  // has failed: nobody can be told there.
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
