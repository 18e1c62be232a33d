#pragma once
// How the agents of a job, or of a command, come to life: what its options and its engine say.

#include "launcher/agents/agent_start.h"
#include "launcher/request/job_request.h"
#include "launcher/session/session.h"

namespace dtl {

// On hosts that are logged in to.
StartOptions start_options(const Surroundings& around, bool accept_new_host_keys);
// The same for a job of an engine.
StartOptions start_options(const JobSettings& settings, const Surroundings& around,
                           bool accept_new_host_keys);

AgentStarter agent_starter(const StartOptions& start, AgentStart how = AgentStart::kSsh);
AgentFinder agent_finder(const StartOptions& start);

}  // namespace dtl
