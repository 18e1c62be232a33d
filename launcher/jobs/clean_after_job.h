#pragma once
// What a dead agent left on its host: the agent's own guard and keeper have ended it, unless they
// died with it.

#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "plan/request/host.h"

namespace dtl {

// Goes back to these hosts, ends what is left of the job there, and says what it found. Nothing is
// said of a host where all was clean.
void clean_after_job(const std::vector<Host>& hosts, const AgentRunner& run,
                     const std::string& job_id);

}  // namespace dtl
