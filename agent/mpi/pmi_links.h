#pragma once
// PmiLinks: the connections over which this node's ranks speak PMI-1. Each rank has one end of a
// socket pair from its start on; agent/pmi/pmi_server.h decides what is answered. Owned by the
// session; one io_context thread. It also notices ranks that run an MPI which is not served.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/guard/guard_protocol.h"
#include "agent/pmi/pmi_server.h"
#include "base/fd.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

class PmiLinks {
 public:
  PmiLinks(asio::io_context& context, TaskGroup& tasks, Connection& connection);

  void take(ServePmi job);  // once, before the ranks' Start
  // The rank's end; invalid if the rank is not served. Throws Error(kOs).
  Fd open(std::uint32_t rank);
  void take(PmiFenced part);
  void started(std::uint32_t rank, pid_t process);
  // Before Exited is sent: what the rank has said last may explain it.
  void ended(const GuardReport& report);

 private:
  struct Link {
    explicit Link(asio::posix::stream_descriptor own) : socket(std::move(own)) {}
    asio::posix::stream_descriptor socket;
    std::string unsent;    // replies
    bool is_over = false;  // nothing more is read
    bool writing = false;  // a task sends what is unsent
  };
  awaitable<void> watch(std::uint32_t rank, pid_t process);
  awaitable<void> read(std::uint32_t rank, Link& link);
  awaitable<void> write(Link& link);
  void take(std::uint32_t rank, Link& link);
  static bool send(Link& link);
  void reply(Link& link, const std::string& text);
  void perform(std::vector<pmi::Effect> effects);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  std::optional<PmiServer> server_;
  int watched_ = 0;  // ranks
  // Never erased: tasks refer to the entries until the agent ends.
  std::map<std::uint32_t, Link> links_;
};

}  // namespace dtl
