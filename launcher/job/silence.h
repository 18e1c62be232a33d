#pragma once
// Who has said nothing for too long: nodes, and dtlaunch itself after it was stopped.

#include "launcher/job/turn.h"

namespace dtl::job {

void send_heartbeats(Turn& turn);
void watch_silence(Turn& turn);
void agent_seen(Turn& turn, const AgentSeen& event);
// Before each event: whether dtlaunch was stopped since the last one. Nodes that were silent
// meanwhile are not to blame.
void excuse_own_absence(Turn& turn);
// Nodes have ended the job, because dtlaunch was absent for longer than their lease.
void end_as_outlived(Turn& turn, JobTime absent);
void continued(Turn& turn);

}  // namespace dtl::job
