// The length in a head is checked before the text is waited for. A broken peer could otherwise have
// this rank collect bytes without end.
#include "ring/meeting/control_line.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dtl::ring {
namespace {

struct ControlHead {
  std::uint32_t kind, text_bytes;
  std::int32_t status, rank;
  std::uint64_t completed;
};
static_assert(sizeof(ControlHead) == 24);

bool is_acceptable(const ControlHead& head) {
  switch (static_cast<FrameKind>(head.kind)) {
    case FrameKind::kTable:
    case FrameKind::kNodes:
      return head.text_bytes <= kMaxTableText;
    case FrameKind::kJoin:
    case FrameKind::kReady:
    case FrameKind::kGo:
    case FrameKind::kFail:
    case FrameKind::kBye:
    case FrameKind::kShare:
    case FrameKind::kParent:
      return head.text_bytes <= kMaxFrameText;
  }
  return false;
}

}  // namespace

std::string encode(const Frame& frame) {
  const bool is_table = frame.kind == FrameKind::kTable || frame.kind == FrameKind::kNodes;
  const std::size_t limit = is_table ? kMaxTableText : kMaxFrameText;
  // A reason that is too long is cut, since the receiver refuses it otherwise.
  const std::size_t text_bytes = std::min(frame.text.size(), limit);
  const ControlHead head{static_cast<std::uint32_t>(frame.kind),
                         static_cast<std::uint32_t>(text_bytes), frame.status, frame.rank,
                         frame.completed};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes.append(frame.text, 0, text_bytes);
}

bool FrameReader::take_frames(std::vector<Frame>& frames) {
  std::size_t at = 0;
  ControlHead head;
  while (buffer_.size() - at >= sizeof head) {
    std::memcpy(&head, buffer_.data() + at, sizeof head);
    // Before its text is waited for: garbage must not claim gigabytes.
    if (!is_acceptable(head)) return false;
    if (buffer_.size() - at < sizeof head + head.text_bytes) break;
    frames.push_back({static_cast<FrameKind>(head.kind), head.status, head.rank, head.completed,
                      buffer_.substr(at + sizeof head, head.text_bytes)});
    at += sizeof head + head.text_bytes;
  }
  buffer_.erase(0, at);
  return true;
}

LineState FrameReader::read(Channel& channel, std::vector<Frame>& frames) {
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t n = channel.receive(chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return LineState::kOpen;
    if (n <= 0) {
      closing_error_ = n < 0 ? errno : 0;
      return LineState::kClosed;
    }
    buffer_.append(chunk.data(), static_cast<std::size_t>(n));
    if (!take_frames(frames)) return LineState::kGarbled;
  }
}

bool send_now(Channel& channel, std::string_view bytes) {
  for (;;) {
    const ssize_t n = channel.send(bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    return n == static_cast<ssize_t>(bytes.size());
  }
}

bool send_until(Channel& channel, std::string_view bytes,
                std::chrono::steady_clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t n = channel.send(bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (n >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN || std::chrono::steady_clock::now() >= deadline) return false;
    pollfd entry{channel.fd(), POLLOUT, 0};
    // ms; short, so that the deadline is looked at.
    (void)::poll(&entry, 1, 20);
  }
  return true;
}

}  // namespace dtl::ring
