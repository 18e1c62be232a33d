#pragma once
// Before ranks start again: ends processes of the job on hosts that did not report their end. Two
// ranks with the same number must never run at once. launcher/restart decides what follows.

#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "launcher/session/epochs.h"
#include "plan/request/host.h"

namespace dtl {

// Runs dtagent --fence on these hosts, which ends the job there. The result is in the order of
// `hosts`. A host that does not answer is not clean, and `reason` says why.
std::vector<Fenced> fence_hosts(const std::vector<Host>& hosts, const AgentRunner& run,
                                const std::string& job_id);

// For each of these hosts, whether it answers and has an agent. Gives up as ask_agents() does;
// hosts without an answer by then count as lost.
std::vector<bool> probe_hosts(const std::vector<Host>& hosts, const AgentRunner& run, int give_up);

}  // namespace dtl
