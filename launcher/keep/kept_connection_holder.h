#pragma once
// Holder: the background process of `dtlaunch up`. It listens on a unix socket of its user and
// gives launchers agents over existing connections. It forwards the bytes between a launcher and
// its agent without reading them. One io_context and one thread, beside the threads of a
// scheduler's step.

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

// What a step reports about its scheduler. Called from any thread.
struct StepNews {
  std::function<void()> told_to_end;  // the scheduler will soon end the step
  std::function<void()> over;         // the step has ended
};

struct HolderOptions {
  std::vector<Host> hosts;
  StartOptions start;  // kept_job: the scheduler's job that the hosts are nodes of
  // If agents run in a step: creates it. Called once.
  std::function<std::shared_ptr<AgentStep>(StepNews)> make_step = {};
  std::chrono::seconds idle{0};  // ends after this long without a launch
  // Called once, when every connection has succeeded or failed.
  std::function<void(const std::vector<std::optional<Error>>&)> ready;
};

// Blocks until the holder is told to end (`dtlaunch down` or SIGTERM), was idle for too long or has
// lost its step, and then until jobs over its connections end. If the scheduler ends the step, the
// launchers of these jobs get SIGTERM. Throws Error(kCannotWrite) if it cannot make its socket.
void run_holder(HolderOptions options);

}  // namespace dtl
