#pragma once
// EngineEvents: the events that wake the driving thread: data links, control lines, callers' orders
// and the memory of this node's other ranks. Owned by the Engine; used with the wheel. Does not
// interpret events: links record theirs, and lines are passed to their reader.

#include <functional>
#include <vector>

#include "ring/engine/engine_orders.h"
#include "ring/engine/event_watch.h"
#include "ring/engine/fork_guard.h"
#include "ring/links/shm_node.h"

namespace dtl::ring {

class EngineEvents {
 public:
  // memory: null if ranks of a node use TCP. Both outlive this. Throws CommError, as add_line() and
  // add_stream() do.
  EngineEvents(EngineOrders& orders, ShmNode* memory);
  void add_line(int fd);
  void add_stream(TcpLink& link, int fd);
  // Replaces the descriptor of LateLinks; -1: none.
  void set_late(int fd);
  // Others that a forked child must not keep open (ForkGuard), until release_guard().
  void guard(const std::vector<int>& fds) { guard_.add(fds); }
  void release_guard() { guard_.release(); }
  // After a failure nobody reads links any more, and their events would only wake the thread.
  void drop_links() { watch_.drop_links(); }

  // Waits at most timeout_ms (-1: no limit), and returns the number of events; a signal counts as
  // none. read_line: returns whether the line with this descriptor stays open, and sees the
  // descriptor of LateLinks as well.
  int take(int timeout_ms, const std::function<bool(int fd)>& read_line);
  // False if there are news. Otherwise orders and other ranks wake this one until end_sleep();
  // while it does not sleep they skip the system call.
  bool begin_sleep();
  void end_sleep();

  int fd() const { return watch_.fd(); }  // readable when there are events
  const std::vector<int>& link_fds() const { return watch_.link_fds(); }

 private:
  EngineOrders& orders_;
  ShmNode* const memory_;
  EventWatch watch_;
  int late_fd_ = -1;
  ForkGuard guard_;
};

}  // namespace dtl::ring
