#pragma once
// Agents whose connection is lost and that may be found again, by --reconnect.

#include "launcher/job/turn.h"

namespace dtl::job {

// False when this node's agent cannot be found again, or need not be.
bool search_for(Turn& turn, int node);
void link_tried(Turn& turn, const LinkTried& event);
// Searches end at this time at the latest.
void hurry_searches(Turn& turn, JobTime until);
void watch_searches(Turn& turn);
// Sets the time of the next try; after each change to a node's link.
void plan_searches(Turn& turn);

}  // namespace dtl::job
