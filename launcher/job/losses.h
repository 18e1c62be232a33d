#pragma once
// How nodes come, fail and go: an agent that is ready, one that does not come up, one that is lost,
// and what that does to the ranks on its node.

#include "launcher/job/turn.h"

namespace dtl::job {

void agent_ready(Turn& turn, const AgentReady& event);
void agent_failed(Turn& turn, const AgentFailed& event);
void agent_lost(Turn& turn, const AgentLost& event);
// Nodes that do not come up, are lost, or send what no agent sends. What ranks they had is lost
// too.
void fail_start(Turn& turn, int node, Exit status);
void lose(Turn& turn, int node, Cause cause, int exit_status, const std::string& text);
void garbage(Turn& turn, int node, const std::string& what);
void hear_finished(Turn& turn, int node, const Finished& message);

}  // namespace dtl::job
