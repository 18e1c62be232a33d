#pragma once
// Holder: the background process of `dtlaunch up`. It listens on a unix socket of its user and
// gives launchers agents over connections that are logged in already; the bytes between a launcher
// and its agent pass through it. One io_context, one thread.

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/agents/agent_start.h"
#include "launcher/agents/kept_connection_request.h"
#include "launcher/keep/kept_connection_host.h"
#include "wire/task_group.h"

namespace dtl {

struct HolderOptions {
  std::vector<Host> hosts;
  StartOptions start;
  std::chrono::seconds idle{0};  // ends after this long without a launch
  // Called once, when every login has succeeded or failed.
  std::function<void(const std::vector<std::optional<Error>>&)> ready;
};

// Until it is told to go, by `dtlaunch down` or SIGTERM, or has been idle for too long; jobs that
// run over its connections are waited for. Throws Error(kCannotWrite) without a socket.
void run_holder(HolderOptions options);

}  // namespace dtl
