#pragma once
// Holder: the background process of `dtlaunch up`. It listens on a unix socket of its user and
// gives launchers agents over connections that exist already. The bytes between a launcher and its
// agent pass through it, and it does not read them. One io_context and one thread, beside the
// threads of a scheduler's step.

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

// What a scheduler has to say about a step. May be called from any thread.
struct StepNews {
  std::function<void()> told_to_end;  // the scheduler is about to end it
  std::function<void()> over;         // it has ended
};

struct HolderOptions {
  std::vector<Host> hosts;
  StartOptions start;  // kept_job: of the scheduler's, whose nodes the hosts are
  // Where agents live in a step: makes it. Called once.
  std::function<std::shared_ptr<AgentStep>(StepNews)> make_step = {};
  std::chrono::seconds idle{0};  // ends after this long without a launch
  // Called once, when every connection has succeeded or failed.
  std::function<void(const std::vector<std::optional<Error>>&)> ready;
};

// Blocks until it is told to end (`dtlaunch down` or SIGTERM), has been idle for too long or has
// lost its step. Jobs that run over its connections are waited for. If the scheduler ends the step,
// their launchers are sent SIGTERM. Throws Error(kCannotWrite) without a socket.
void run_holder(HolderOptions options);

}  // namespace dtl
