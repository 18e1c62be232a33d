#pragma once
// Holder: the background process of `dtlaunch up`. It listens on a unix socket of its user and
// gives launchers agents over connections that are there already; the bytes between a launcher and
// its agent pass through it. One io_context, one thread, beside those of an engine's step.

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

// What an engine has to say about a step, from any thread.
struct StepNews {
  std::function<void()> told_to_end;  // the engine ends it
  std::function<void()> over;         // it has ended
};

struct HolderOptions {
  std::vector<Host> hosts;
  StartOptions start;  // kept_job: of the engine's, whose nodes the hosts are
  // Where agents live in a step: makes it. Called once.
  std::function<std::shared_ptr<AgentStep>(StepNews)> make_step = {};
  std::chrono::seconds idle{0};  // ends after this long without a launch
  // Called once, when every connection has succeeded or failed.
  std::function<void(const std::vector<std::optional<Error>>&)> ready;
};

// Until it is told to go, by `dtlaunch down` or SIGTERM, has been idle for too long or has lost its
// step; jobs that run over its connections are waited for, and those of a step that its engine ends
// are sent SIGTERM. Throws Error(kCannotWrite) without a socket.
void run_holder(HolderOptions options);

}  // namespace dtl
