#pragma once
// GuardWatch: the agent's dtguard: starts it, hears its reports, and says when it has gone or is
// silent. Owned by the session; one io_context thread. Knows nothing of the launcher's messages and
// of what ranks write.

#include <sys/types.h>

#include <functional>
#include <string>

#include "agent/guard/guard_link.h"
#include "agent/job/supervisor.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class GuardWatch {
 public:
  struct Listeners {
    std::function<void(const GuardReport&)> report;  // all but kAlive
    std::function<void(const Event&)> lost;          // GuardGone, GuardSilent
  };
  GuardWatch(asio::io_context& context, TaskGroup& tasks, Connection& connection,
             Listeners listeners);

  // own_folder: where dtagent lies. waits: the guard is to wait for an agent that is not stopped
  // and gets no CPU time. Throws Error(kOs).
  void start(const std::string& own_folder, bool waits);
  // At each heartbeat: asks the guard for an answer. Does nothing before start().
  void tick(const Supervisor& supervisor);
  GuardLink& link() { return link_; }

 private:
  awaitable<void> read();

  TaskGroup& tasks_;
  Connection& connection_;
  const Listeners listeners_;
  GuardLink link_;
  pid_t process_ = 0;
  int unanswered_ticks_ = 0;  // since its last report
  bool is_late_ = false;      // and that was said
};

}  // namespace dtl
