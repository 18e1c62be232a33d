#pragma once
// TcpLink: a link over TCP connections, with or without TLS. Each lane has separate streams. The
// bulk lane may have several, because a cloud may limit one connection to part of the bandwidth. A
// slow stream gets fewer frames than the others.
//
// Each end begins with another stream. While one is enough, each direction therefore has its own,
// and sends do not wait for the lock of the socket that receives the other end's data. Owned by the
// Executor.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ring/links/channel.h"
#include "ring/links/link.h"
#include "ring/links/tcp_receiver.h"
#include "ring/links/tcp_sender.h"

namespace dtl::ring {

class TcpLink : public Link {
 public:
  TcpLink(int peer, bool begins_with_last) : peer_(peer), begins_with_last_(begins_with_last) {}

  // A connected, non-blocking socket. Watch it edge-triggered for input and output: a stream
  // remembers that it is ready until a call finds the socket empty or full. number: the stream's
  // index in its lane, equal at both ends.
  void add_stream(Lane lane, std::uint32_t number, Channel channel);
  // epoll's report about a stream. has_ended: the peer has closed its end, so the readable data is
  // limited.
  void set_ready(int fd, bool readable, bool writable, bool has_ended);

  void set_waker(Waker& waker) override { waker_ = &waker; }
  bool wants_step() const override;
  bool can_begin(Lane lane) const override;
  void begin(const FrameHead& head, const OperationHeader* operation, const std::byte* payload,
             std::byte* answer) override;
  bool step(Sink& sink) override;
  bool is_sent() const override;
  bool has_ended() const override;
  bool say_farewell(std::uint64_t completed) override;
  std::size_t frame_bytes(Lane, const std::byte*, const std::byte*, std::uint64_t) const override {
    return kMostFrameBytes;
  }

 private:
  struct Stream {
    Lane lane;
    std::uint32_t number;
    Channel channel;
    TcpSender sender;
    TcpReceiver receiver;
  };

  void wake() {
    if (waker_ != nullptr) waker_->wake(peer_);
  }

  int peer_;
  bool begins_with_last_;
  Waker* waker_ = nullptr;
  std::deque<Stream> streams_;  // in the order in which they get frames
};

}  // namespace dtl::ring
