#pragma once
// Before ranks are started again: ends what of the job still runs on hosts that did not report its
// end. Two ranks with one number must never be alive together. launcher/restart decides what
// follows.

#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "launcher/session/epochs.h"
#include "plan/request/host.h"

namespace dtl {

// Has dtagent --fence end the job on these hosts. The result is in the order of `hosts`. A host
// that does not answer is not clean, and `reason` says why.
std::vector<Fenced> fence_hosts(const std::vector<Host>& hosts, const AgentRunner& run,
                                const std::string& job_id);

// Which of these hosts answer again and have an agent, in their order. Gives up as ask_agents()
// does; hosts without an answer by then are not there.
std::vector<bool> probe_hosts(const std::vector<Host>& hosts, const AgentRunner& run, int give_up);

}  // namespace dtl
