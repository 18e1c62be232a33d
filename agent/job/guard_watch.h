#pragma once
// GuardWatch: starts the agent's dtguard, receives its reports, and notices when it is gone or
// silent. Owned by the session; one io_context thread. Knows nothing of the launcher's messages or
// the ranks' output.

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
    std::function<void(const GuardReport&)> report;  // all except kAlive
    std::function<void(const Event&)> lost;          // GuardGone, GuardSilent
  };
  GuardWatch(asio::io_context& context, TaskGroup& tasks, Connection& connection,
             Listeners listeners);

  // own_folder: dtagent's folder. waits: tells the guard to wait for an agent that runs without CPU
  // time. Throws Error(kOs).
  void start(const std::string& own_folder, bool waits);
  // At each heartbeat: sends the guard a tick. Does nothing before start().
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
  bool is_late_ = false;      // and the user was told
};

}  // namespace dtl
