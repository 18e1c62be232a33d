#pragma once
// TcpReceiver: receives the frames of one connection of a TcpLink, and holds bytes read ahead.
// Reads payloads directly into their place. Owned by the link, used by the driving thread; nothing
// here blocks. Knows nothing of what the connection sends, nor of other connections.

#include <array>
#include <cstddef>

#include "ring/links/channel.h"
#include "ring/links/link.h"

namespace dtl::ring {

class TcpReceiver {
 public:
  explicit TcpReceiver(int peer) : peer_(peer) {}  // for Sink

  // has_ended: the peer has closed its end. Its last bytes may still be in flight, and no edge will
  // follow them. So after a short read, do not wait for an edge.
  void set_ready(bool readable, bool has_ended) {
    readable_ |= readable;
    has_ended_ |= has_ended;
  }
  bool is_heard() const { return is_heard_; }  // data may still arrive
  bool step(Channel& channel, Sink& sink);     // true if anything moved
  // False: nothing moves before set_ready().
  bool wants_step() const {
    return is_heard_ && (readable_ || ahead_from_ != ahead_to_ || (has_head_ && !is_admitted_));
  }

 private:
  // Bytes read beyond a head. Reading ahead saves a separate call for the next head; a short frame
  // arrives together with its head.
  static constexpr std::size_t kAhead = 4096;

  bool read_head();
  bool read_payload(Channel& channel, Sink& sink);
  bool read_ahead(Channel& channel, Sink& sink);
  bool note_read(std::ptrdiff_t result, std::size_t wanted, Sink& sink);

  int peer_;
  bool readable_ = true, is_heard_ = true, has_ended_ = false;
  std::array<std::byte, kAhead> ahead_;
  std::size_t ahead_from_ = 0, ahead_to_ = 0;
  bool has_head_ = false, is_admitted_ = false;
  FrameHead head_;
  OperationHeader operation_;
  std::byte* target_ = nullptr;
  std::size_t filled_ = 0;
};

}  // namespace dtl::ring
