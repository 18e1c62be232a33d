#pragma once
// dtlaunch up and down: dtlaunch-up(1). Starts, replaces, asks and ends the holder, which is a
// process of its own (kept_connection_holder.h).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_connection_holder.h"

namespace dtl {

// A scheduler's job that this process runs in and can start agents of a step in.
struct SchedulerJob {
  std::string job;          // the scheduler's number
  std::vector<Host> nodes;  // of it
  // Called in the background process, because the step is a child of it.
  std::function<std::shared_ptr<AgentStep>(StepNews)> make_step;
};

// Returns the exit status. Throws Error. find_job: nullopt when this process is not in such a job.
int run_keep_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start,
                     const std::function<std::optional<SchedulerJob>()>& find_job);

}  // namespace dtl
