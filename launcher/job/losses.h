#pragma once
// How nodes start, fail and end: an agent that is ready, one that does not start, one that is lost,
// and the effect on the ranks on its node. machine.h decides the effect on the job.

#include "launcher/job/turn.h"

namespace dtl::job {

// The last of these events begins the preflight, or fails the start.
void agent_ready(Turn& turn, const AgentReady& event);
void agent_failed(Turn& turn, const AgentFailed& event);
void agent_lost(Turn& turn, const AgentLost& event);
// Nodes that do not start, are lost, or break the protocol. The ranks on such a node are lost too:
// their state is unknown.
void fail_start(Turn& turn, int node, Exit status);
void lose(Turn& turn, int node, Cause cause, int exit_status, const std::string& text);
void garbage(Turn& turn, int node, const std::string& what);
// Nothing of the job is left on that node. An agent that says so unasked is lost.
void hear_finished(Turn& turn, int node, const Finished& message);

}  // namespace dtl::job
