// Watches EPOLLRDHUP, because no other edge follows a peer's last byte: the link must know that it
// has to read to the end.
#include "ring/engine/event_watch.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

constexpr std::uint32_t kDataEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

}  // namespace

EventWatch::EventWatch() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) throw CommError(DT_E_SYS, "cannot create an epoll", errno_text(errno));
}

void EventWatch::watch(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw CommError(DT_E_SYS, "cannot watch a connection", errno_text(errno));
  }
}

void EventWatch::add(int fd) {
  watch(fd, EPOLLIN);
}

void EventWatch::drop(int fd) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventWatch::add_stream(TcpLink& link, int fd) {
  const auto at = static_cast<std::size_t>(fd);
  if (link_of_fd_.size() <= at) link_of_fd_.resize(at + 1);
  link_of_fd_[at] = &link;
  link_fds_.push_back(fd);
  watch(fd, kDataEvents);
}

void EventWatch::drop_links() {
  for (const int fd : link_fds_) drop(fd);
}

int EventWatch::take(int timeout_ms, const std::function<void(int fd)>& handle) {
  // Errors count as input and output: the next call gets the errno.
  constexpr std::uint32_t kInput = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  std::array<epoll_event, 64> all;
  const int n = ::epoll_wait(epoll_.get(), all.data(), static_cast<int>(all.size()), timeout_ms);
  for (int k = 0; k < n; ++k) {
    const int fd = all[static_cast<std::size_t>(k)].data.fd;
    const std::uint32_t events = all[static_cast<std::size_t>(k)].events;
    const auto at = static_cast<std::size_t>(fd);
    TcpLink* link = at < link_of_fd_.size() ? link_of_fd_[at] : nullptr;
    if (link == nullptr) {
      handle(fd);
    } else {
      link->set_ready(fd, (events & kInput) != 0, (events & (EPOLLOUT | EPOLLERR)) != 0,
                      (events & (EPOLLRDHUP | EPOLLHUP)) != 0);
    }
  }
  return n;
}

}  // namespace dtl::ring
