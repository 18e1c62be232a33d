#pragma once
// TcpLink: a link over TCP connections. Each lane has streams of its own; the bulk lane may have
// several, because one connection is held to a part of a cloud's bandwidth, and a slow one takes
// fewer frames.

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "base/fd.h"
#include "ring/link.h"

namespace dtl::ring {

class TcpLink : public Link {
 public:
  explicit TcpLink(int peer) : peer_(peer) {}

  // A connected, non-blocking socket. Watch it for input and output by edges.
  void add_stream(Lane lane, Fd fd);
  std::size_t streams(Lane lane) const;
  std::vector<int> descriptors() const;
  void set_ready(int fd, bool readable, bool writable, bool has_ended);

  bool can_begin(Lane lane) const override;
  void begin(const FrameHead& head, const OperationHeader* operation, const std::byte* payload,
             std::byte* answer) override;
  bool step(Sink& sink) override;
  bool is_sent() const override;
  std::size_t frame_bytes(Lane, const std::byte*, const std::byte*) const override {
    return kMostFrameBytes;
  }

 private:
  // What was read beyond a head: saves the call that would read the head alone.
  static constexpr std::size_t kAhead = 4096;

  struct Stream {
    Fd fd;
    Lane lane = Lane::kSmall;
    bool readable = true, writable = true, is_open = true, is_heard = true;
    bool has_ended = false;  // the last byte is on its way, and no edge will follow it
    // Sending.
    bool is_sending = false;
    FrameHead head;
    OperationHeader operation;
    const std::byte* payload = nullptr;
    std::size_t sent = 0;
    // Receiving.
    std::array<std::byte, kAhead> ahead;
    std::size_t ahead_from = 0, ahead_to = 0;
    bool has_head = false, is_admitted = false;
    FrameHead in_head;
    OperationHeader in_operation;
    std::byte* target = nullptr;
    std::size_t filled = 0;
  };
  bool push(Stream& stream, Sink& sink);
  bool pull(Stream& stream, Sink& sink);
  bool read_head(Stream& stream);
  bool read_payload(Stream& stream, Sink& sink);
  bool read_ahead(Stream& stream, Sink& sink);
  bool note_read(Stream& stream, std::ptrdiff_t result, std::size_t wanted, Sink& sink);
  Stream* idle_stream(Lane lane);

  int peer_;
  std::deque<Stream> streams_;
};

}  // namespace dtl::ring
