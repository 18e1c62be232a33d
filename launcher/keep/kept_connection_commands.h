#pragma once
// dtlaunch up and down: dtlaunch-up(1). Starts, replaces, queries and ends the holder, a separate
// process (kept_connection_holder.h).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_connection_holder.h"

namespace dtl {

// The scheduler's job around this process, if agents can run in a step of it.
struct SchedulerJob {
  std::string job;          // the scheduler's job number
  std::vector<Host> nodes;  // of the job
  // Called in the background process, which becomes the parent of the step's starter.
  std::function<std::shared_ptr<AgentStep>(StepNews)> make_step;
};

// Returns the exit status. Throws Error. find_job: nullopt if this process is not in such a job.
int run_keep_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start,
                     const std::function<std::optional<SchedulerJob>()>& find_job);

}  // namespace dtl
