#pragma once
// EngineEvents: what wakes whoever drives the engine: data links, control lines, callers' orders
// and the memory of this node's other ranks. Owned by the Engine; used with the wheel. Does not
// know what an event means: links note theirs, and lines are named to whoever reads them.

#include <functional>
#include <vector>

#include "ring/engine/engine_orders.h"
#include "ring/engine/event_watch.h"
#include "ring/links/shm_node.h"

namespace dtl::ring {

class EngineEvents {
 public:
  // memory: null where ranks of a node are reached as others are. Both outlive this. Throws
  // CommError, as add_line() and add_link() do.
  EngineEvents(EngineOrders& orders, ShmNode* memory);
  void add_line(int fd);
  void add_link(TcpLink& link) { watch_.add_link(link); }
  // After a failure nobody reads links any more, and their events would only wake the thread.
  void drop_links() { watch_.drop_links(); }

  // Waits for timeout_ms at most (-1: without end), and answers how many events there were; a
  // signal counts as none. read_line: whether the line with this descriptor stays open.
  int take(int timeout_ms, const std::function<bool(int fd)>& read_line);
  // False when there are news. Else orders and other ranks wake this one until end_sleep(); while
  // it does not sleep they spare themselves the system call.
  bool begin_sleep();
  void end_sleep();

  int fd() const { return watch_.fd(); }  // readable when there are events
  const std::vector<int>& link_fds() const { return watch_.link_fds(); }
  std::vector<int> descriptors() const;  // all but those of the memory

 private:
  EngineOrders& orders_;
  ShmNode* const memory_;
  EventWatch watch_;
  std::vector<int> line_fds_;
};

}  // namespace dtl::ring
