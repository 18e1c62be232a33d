#pragma once
// How the agents of a job, or of a command, come to life: what its options and its scheduler say.

#include <optional>

#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_connection_commands.h"
#include "launcher/request/job_request.h"
#include "launcher/session/session.h"

namespace dtl {

// Those of this process, with what it may ask.
Surroundings asking_surroundings();

// On hosts that are logged in to.
StartOptions start_options(const Surroundings& around, bool accept_new_host_keys);
// The same for a job of a scheduler.
StartOptions start_options(const JobSettings& settings, const Surroundings& around,
                           bool accept_new_host_keys);

// The scheduler's job that we are in, where `dtlaunch up` can keep agents in a step of it.
std::optional<SchedulerJob> find_scheduler_job();

AgentStarter agent_starter(const StartOptions& start, AgentStart how = {});
AgentFinder agent_finder(const StartOptions& start);

}  // namespace dtl
