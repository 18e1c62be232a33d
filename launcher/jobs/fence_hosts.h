#pragma once
// Before ranks are started again: what of the job still runs on hosts that did not report its end.

#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "launcher/session/epochs.h"
#include "plan/request/host.h"

namespace dtl {

// Has dtagent --fence end the job on these hosts. One that does not answer is not clean.
std::vector<Fenced> fence_hosts(const std::vector<Host>& hosts, const AgentRunner& run,
                                const std::string& job_id);

// Which of these hosts answer again, and have an agent. Gives up as ask_agents does.
std::vector<bool> probe_hosts(const std::vector<Host>& hosts, const AgentRunner& run, int give_up);

}  // namespace dtl
