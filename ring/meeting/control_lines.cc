// Lines that have closed keep their place and their descriptor: the number must stay theirs while
// epoll and the ForkGuard know it.
#include "ring/meeting/control_lines.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <string>

namespace dtl::ring {

ControlLine* ControlLines::find(int fd) {
  const auto line = std::find_if(lines_.begin(), lines_.end(),
                                 [fd](const ControlLine& each) { return each.channel.fd() == fd; });
  return line == lines_.end() ? nullptr : &*line;
}

void ControlLines::tell(const Frame& frame, int origin_fd) {
  const std::string bytes = encode(frame);
  for (ControlLine& line : lines_) {
    if (line.is_open && line.channel.fd() != origin_fd) send_now(line.channel, bytes);
  }
}

void ControlLines::drain(std::chrono::steady_clock::time_point deadline) const {
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
