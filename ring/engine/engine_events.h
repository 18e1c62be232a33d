#pragma once
// EngineEvents: the events that wake the driving thread: data links, control lines, callers' orders
// and the memory of this node's other ranks. Owned by the Engine; used with the wheel. Does not
// interpret events: links record theirs, and lines are passed to their reader.

#include <functional>
#include <vector>

#include "ring/engine/engine_orders.h"
#include "ring/engine/event_watch.h"
#include "ring/links/shm_node.h"

namespace dtl::ring {

class EngineEvents {
 public:
  // memory: null if ranks of a node use TCP. Both outlive this. Throws CommError, as add_line() and
  // add_link() do.
  EngineEvents(EngineOrders& orders, ShmNode* memory);
  void add_line(int fd);
  void add_link(TcpLink& link) { watch_.add_link(link); }
  // After a failure nobody reads links any more, and their events would only wake the thread.
  void drop_links() { watch_.drop_links(); }

  // Waits at most timeout_ms (-1: no limit), and returns the number of events; a signal counts as
  // none. read_line: returns whether the line with this descriptor stays open.
  int take(int timeout_ms, const std::function<bool(int fd)>& read_line);
  // False if there are news. Otherwise orders and other ranks wake this one until end_sleep();
  // while it does not sleep they skip the system call.
  bool begin_sleep();
  void end_sleep();

  int fd() const { return watch_.fd(); }  // readable when there are events
  const std::vector<int>& link_fds() const { return watch_.link_fds(); }
  std::vector<int> descriptors() const;  // all except those of the memory

 private:
  EngineOrders& orders_;
  ShmNode* const memory_;
  EventWatch watch_;
  std::vector<int> line_fds_;
};

}  // namespace dtl::ring
