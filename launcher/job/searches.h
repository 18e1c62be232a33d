#pragma once
// Agents whose connection is lost and that may be found again (--reconnect, or a tree of agents).
// The rules are in LinkSearch; here its decisions become effects.

#include "launcher/job/turn.h"

namespace dtl::job {

// Begins a search, or goes on with one. False when this node's agent cannot be found again, or need
// not be; the caller then loses the node.
bool search_for(Turn& turn, int node);
void link_tried(Turn& turn, const LinkTried& event);
// The agent has come by itself, on a new branch of the tree.
void branch_taken(Turn& turn, const BranchTaken& event);
// Searches end at `until` at the latest.
void hurry_searches(Turn& turn, JobTime until);
void watch_searches(Turn& turn);
// Sets the time of the next wakeup for searches. Call it after each change to a node's link.
void plan_searches(Turn& turn);

}  // namespace dtl::job
