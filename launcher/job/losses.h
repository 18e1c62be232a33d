#pragma once
// How nodes come, fail and go: an agent that is ready, one that does not come up, one that is lost,
// and what that does to the ranks on its node. What happens to the job then is in machine.h.

#include "launcher/job/turn.h"

namespace dtl::job {

// The last of these events begins the preflight, or fails the start.
void agent_ready(Turn& turn, const AgentReady& event);
void agent_failed(Turn& turn, const AgentFailed& event);
void agent_lost(Turn& turn, const AgentLost& event);
// Nodes that do not come up, are lost, or send what no agent sends. The ranks on such a node are
// lost too: what they do there cannot be known any more.
void fail_start(Turn& turn, int node, Exit status);
void lose(Turn& turn, int node, Cause cause, int exit_status, const std::string& text);
void garbage(Turn& turn, int node, const std::string& what);
// Nothing of the job is left on that node. An agent that says so unasked is lost.
void hear_finished(Turn& turn, int node, const Finished& message);

}  // namespace dtl::job
