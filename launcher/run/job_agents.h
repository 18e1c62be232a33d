#pragma once
// How the agents of a job, or of a command, come to life: what its options and its scheduler say,
// as the functions that a session calls. Only here the rooms of ways to start (ssh, carriers,
// steps, `dtlaunch up`) and the description of a job meet.

#include <optional>

#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_connection_commands.h"
#include "launcher/request/job_request.h"
#include "launcher/session/session.h"

namespace dtl {

// Those of this process, with what it may ask: --discover's command, and the scheduler's program.
Surroundings asking_surroundings();

// On hosts that are logged in to over ssh, whatever has started dtlaunch.
StartOptions start_options(const Surroundings& around, bool accept_new_host_keys);
// The same for a job as it was described: by its scheduler's carrier or step where it has one.
StartOptions start_options(const JobSettings& settings, const Surroundings& around,
                           bool accept_new_host_keys);

// The scheduler's job that we are in, where `dtlaunch up` can keep agents in a step of it.
std::optional<SchedulerJob> find_scheduler_job();

// `how` is -launcher. The functions keep a copy of `start` and may be called for many hosts at
// once.
AgentStarter agent_starter(const StartOptions& start, AgentStart how = {});
// Finds an agent again that was logged in to (--reconnect).
AgentFinder agent_finder(const StartOptions& start);

}  // namespace dtl
