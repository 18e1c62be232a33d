#pragma once
// EventWatch: the epoll of an engine. Of data links it notes what they are ready for; other
// descriptors it names. One thread at a time.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "ring/links/tcp_link.h"

namespace dtl::ring {

class EventWatch {
 public:
  EventWatch();  // throws CommError, as add() and add_link() do
  void add(int fd);
  void drop(int fd);
  void add_link(TcpLink& link);
  void drop_links();
  // How many events there were.
  int take(int timeout_ms, const std::function<void(int fd)>& handle);

  int fd() const { return epoll_.get(); }  // readable when there are events
  const std::vector<int>& link_fds() const { return link_fds_; }

 private:
  void watch(int fd, std::uint32_t events);

  Fd epoll_;
  std::vector<int> link_fds_;
  std::vector<TcpLink*> link_of_fd_;
};

}  // namespace dtl::ring
