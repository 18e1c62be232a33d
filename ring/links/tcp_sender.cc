// If the socket has room, one sendmsg sends a frame: head, operation header and payload together,
// since short operations cost little except system calls.
#include "ring/links/tcp_sender.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace dtl::ring {

void TcpSender::begin(const FrameHead& head, const OperationHeader* operation,
                      const std::byte* payload) {
  is_sending_ = true;
  head_ = head;
  if (operation != nullptr) operation_ = *operation;
  payload_ = payload;
  sent_ = 0;
}

bool TcpSender::say_farewell(Channel& channel, const FrameHead& farewell) {
  if (!is_open_ || farewell_sent_ == sizeof farewell) return true;
  const auto* rest = reinterpret_cast<const std::byte*>(&farewell) + farewell_sent_;
  const ssize_t n = channel.send(rest, sizeof farewell - farewell_sent_);
  // A failed connection counts as done: leaving must not wait for it.
  if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOBUFS) is_open_ = false;
  if (n > 0) farewell_sent_ += static_cast<std::size_t>(n);
  return !is_open_ || farewell_sent_ == sizeof farewell;
}

bool TcpSender::push(Channel& channel, Sink& sink) {
  const std::size_t of_head = head_bytes(head_), whole = of_head + head_.bytes;
  std::array<std::byte, sizeof(FrameHead) + sizeof(OperationHeader)> front;
  std::array<iovec, 2> parts{};
  std::size_t n_parts = 0;
  if (sent_ < of_head) {
    std::memcpy(front.data(), &head_, sizeof head_);
    std::memcpy(front.data() + sizeof head_, &operation_, sizeof operation_);
    parts[n_parts++] = {front.data() + sent_, of_head - sent_};
  }
  const std::size_t of_payload = sent_ > of_head ? sent_ - of_head : 0;
  if (head_.bytes > of_payload) {
    parts[n_parts++] = {const_cast<std::byte*>(payload_) + of_payload, head_.bytes - of_payload};
  }
  const ssize_t n = channel.send(std::span(parts).first(n_parts));
  if (n < 0) {
    // True, so that the caller tries again: no edge would follow.
    if (errno == EINTR) return true;
    writable_ = false;
    if (errno == EAGAIN || errno == ENOBUFS) return false;
    is_open_ = false;
    sink.broken(peer_, errno);
    return true;
  }
  sent_ += static_cast<std::size_t>(n);
  if (sent_ < whole) {
    // The socket is full. A new edge follows when it has room again.
    writable_ = false;
    return true;
  }
  is_sending_ = false;
  sink.sent(peer_, head_);
  return true;
}

}  // namespace dtl::ring
