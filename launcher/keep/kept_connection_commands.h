#pragma once
// dtlaunch up and down: dtlaunch-up(1).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_connection_holder.h"

namespace dtl {

// An engine's job that this process is the launcher of, and that can start agents in a step.
struct SchedulerJob {
  std::string job;          // the engine's number
  std::vector<Host> nodes;  // of it
  std::function<std::shared_ptr<AgentStep>(StepNews)> make_step;
};

// The exit status. Throws Error.
int run_keep_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start,
                     const std::function<std::optional<SchedulerJob>()>& find_job);

}  // namespace dtl
