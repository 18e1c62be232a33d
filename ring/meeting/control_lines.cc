// Lines that have closed keep their place and their descriptor: the number must stay theirs while
// epoll and the ForkGuard know it.
#include "ring/meeting/control_lines.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dtl::ring {
namespace {

// True if nothing is left. The line's reader reports a line that has failed.
bool send_rest(ControlLine& line) {
  while (!line.unsent.empty()) {
    const ssize_t n = line.channel.send(line.unsent.data(), line.unsent.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    // Part of it, or nothing ever more.
    line.unsent.erase(0, n < 0 ? line.unsent.size() : static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

ControlLine* ControlLines::find(int fd) {
  const auto line = std::find_if(lines_.begin(), lines_.end(),
                                 [fd](const ControlLine& each) { return each.channel.fd() == fd; });
  return line == lines_.end() ? nullptr : &*line;
}

ControlLine& ControlLines::add(int rank, Channel channel) {
  return lines_.emplace_back(ControlLine{rank, std::move(channel)});
}

void ControlLines::tell(const Frame& frame, int origin_fd) {
  for (ControlLine& line : lines_) {
    if (line.channel.fd() != origin_fd) tell(line, frame);
  }
}

void ControlLines::tell(ControlLine& line, const Frame& frame) {
  if (!line.is_open) return;
  line.unsent += encode(frame);
  if (!send_rest(line)) has_unsent_ = true;
}

bool ControlLines::flush() {
  has_unsent_ = false;
  for (ControlLine& line : lines_) {
    if (line.is_open && !send_rest(line)) has_unsent_ = true;
  }
  return !has_unsent_;
}

void ControlLines::drain(std::chrono::steady_clock::time_point deadline) {
  while (!flush() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 1);
  for (const ControlLine& line : lines_) {
    if (line.is_open) wait_until_acknowledged(line.channel.fd(), deadline);
  }
}

void wait_until_acknowledged(int fd, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    int unsent = 0;
    // Bytes that were not acknowledged yet. No event tells when they are, so it is asked each ms.
    if (::ioctl(fd, SIOCOUTQ, &unsent) != 0 || unsent == 0) return;
    if (std::chrono::steady_clock::now() >= deadline) return;
    pollfd entry{fd, 0, 0};
    if (::poll(&entry, 1, 1) > 0) return;  // reset or hung up: the peer has gone as well
  }
}

}  // namespace dtl::ring
