// Reads a frame in three steps, each of which may have to wait: its head, its admission, its
// payload. The members store the progress.
#include "ring/links/tcp_receiver.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dtl::ring {
namespace {

constexpr int kFramesPerStream = 4;  // of one stream, before the other streams' turn

}  // namespace

bool TcpReceiver::step(Channel& channel, Sink& sink) {
  bool moved = false;
  for (int frames = 0; frames < kFramesPerStream && is_heard_;) {
    if (!has_head_) {
      if (read_head()) continue;
      if (!readable_ || !read_ahead(channel, sink)) return moved;
      moved = true;
      continue;
    }
    // Under TLS bytes cannot be corrupt here. Without it, or with a faulty peer, the next head
    // cannot be found any more.
    if (head_.magic != kFrameMagic) {
      is_heard_ = false;
      sink.broken(peer_, EPROTO);
      return true;
    }
    if (head_.lane == kFarewellLane) {
      is_heard_ = false;
      sink.left(peer_, head_.offset);
      return true;
    }
    if (!is_admitted_) {
      const auto target =
          sink.admit(peer_, head_, head_.has_operation != 0 ? &operation_ : nullptr);
      // The head stays, and the connection is not read further: TCP's window makes the peer wait.
      if (!target) return moved;
      target_ = *target;
      is_admitted_ = true;
      filled_ = 0;
    }
    if (filled_ < head_.bytes && !read_payload(channel, sink)) return moved;
    moved = true;
    if (filled_ < head_.bytes) continue;
    has_head_ = is_admitted_ = false;
    ++frames;
    sink.arrived(peer_, head_, target_);
  }
  return moved;
}

// From the bytes read ahead; false if they are not enough.
bool TcpReceiver::read_head() {
  const std::size_t there = ahead_to_ - ahead_from_;
  if (there < sizeof(FrameHead)) return false;
  const std::byte* at = ahead_.data() + ahead_from_;
  std::memcpy(&head_, at, sizeof(FrameHead));
  const std::size_t bytes = head_bytes(head_);
  if (there < bytes) return false;
  if (bytes > sizeof(FrameHead)) {
    std::memcpy(&operation_, at + sizeof(FrameHead), sizeof(OperationHeader));
  }
  ahead_from_ += bytes;
  has_head_ = true;
  return true;
}

bool TcpReceiver::read_ahead(Channel& channel, Sink& sink) {
  const std::size_t there = ahead_to_ - ahead_from_;
  // Makes room at the end for a whole head and its operation.
  std::memmove(ahead_.data(), ahead_.data() + ahead_from_, there);
  ahead_from_ = 0;
  ahead_to_ = there;
  const std::size_t room = kAhead - there;
  const ssize_t n = channel.receive(ahead_.data() + there, room);
  if (!note_read(n, room, sink)) return false;
  ahead_to_ += static_cast<std::size_t>(n);
  return true;
}

bool TcpReceiver::read_payload(Channel& channel, Sink& sink) {
  const std::size_t there = std::min<std::size_t>(ahead_to_ - ahead_from_, head_.bytes - filled_);
  if (there > 0) {
    std::memcpy(target_ + filled_, ahead_.data() + ahead_from_, there);
    ahead_from_ += there;
    filled_ += there;
    return true;
  }
  if (!readable_) return false;
  ahead_from_ = ahead_to_ = 0;
  const std::size_t left = head_.bytes - filled_;
  // One call reads the rest of the payload into its place, and the following bytes ahead.
  const std::array<iovec, 2> parts{iovec{target_ + filled_, left}, iovec{ahead_.data(), kAhead}};
  const ssize_t n = channel.receive(parts);
  if (!note_read(n, left, sink)) return false;
  const auto bytes = static_cast<std::size_t>(n);
  filled_ += std::min(bytes, left);
  ahead_to_ = bytes - std::min(bytes, left);
  return true;
}

// True if bytes arrived. A short read means that the socket is empty, which saves the call that
// would return EAGAIN; the next byte triggers a new edge.
bool TcpReceiver::note_read(std::ptrdiff_t result, std::size_t wanted, Sink& sink) {
  if (result < 0 && errno == EINTR) return false;
  const bool is_short = result < static_cast<std::ptrdiff_t>(wanted);
  if (is_short && !(result > 0 && has_ended_)) readable_ = false;
  if (result > 0) return true;
  if (result == 0 || errno != EAGAIN) {
    is_heard_ = false;
    sink.broken(peer_, result == 0 ? 0 : errno);
  }
  return false;
}

}  // namespace dtl::ring
