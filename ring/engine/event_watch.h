#pragma once
// EventWatch: the epoll of an engine. Data links are edge-triggered, and it records readiness: they
// have many events, and an unread link must not be reported repeatedly. Other descriptors are
// level-triggered, and passed to the caller. One thread at a time.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "ring/links/tcp_link.h"

namespace dtl::ring {

class EventWatch {
 public:
  EventWatch();  // throws CommError, as add() and add_stream() do
  void add(int fd);
  void drop(int fd);
  void add_stream(TcpLink& link, int fd);
  void drop_links();
  // Returns the number of events.
  int take(int timeout_ms, const std::function<void(int fd)>& handle);

  int fd() const { return epoll_.get(); }  // readable when there are events
  const std::vector<int>& link_fds() const { return link_fds_; }

 private:
  void watch(int fd, std::uint32_t events);

  Fd epoll_;
  std::vector<int> link_fds_;
  // By descriptor; null: not a link. Links live as long as the engine, and keep their descriptors.
  std::vector<TcpLink*> link_of_fd_;
};

}  // namespace dtl::ring
