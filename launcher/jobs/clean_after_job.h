#pragma once
// Cleans up what a dead agent left on its host, once after the job. Normally the agent's own guard
// and keeper do that; this is for the case that they died together with the agent.

#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "plan/request/host.h"

namespace dtl {

// Connects to these hosts again, ends what is left of the job there and reports what it found.
// Reports nothing for a clean host. Blocks; failures are only messages, because the job has its
// status already.
void clean_after_job(const std::vector<Host>& hosts, const AgentRunner& run,
                     const std::string& job_id);

}  // namespace dtl
