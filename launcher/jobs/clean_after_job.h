#pragma once
// What a dead agent left on its host. Normally the agent's own guard and keeper have ended it. This
// is for the case that they died together with the agent. Used once, after the job.

#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "plan/request/host.h"

namespace dtl {

// Goes back to these hosts, ends what is left of the job there and says what it found. Says nothing
// about a host where all was clean. Blocks; failures are messages, because the job has its status
// already.
void clean_after_job(const std::vector<Host>& hosts, const AgentRunner& run,
                     const std::string& job_id);

}  // namespace dtl
