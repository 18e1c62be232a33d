#pragma once
// Who has said nothing for too long: nodes, and dtlaunch itself after it was stopped. A silence has
// three causes that look alike: the host is lost, a process was stopped, or the machine is busy.

#include "launcher/job/turn.h"

namespace dtl::job {

// Does nothing before next_heartbeat.
void send_heartbeats(Turn& turn);
void watch_silence(Turn& turn);
void heard_of(Turn& turn, const Alive& event);
void agent_seen(Turn& turn, const AgentSeen& event);
// Call it before each event: if dtlaunch was stopped since the last one, nodes that were silent
// meanwhile are not to blame.
void excuse_own_absence(Turn& turn);
// The nodes have ended the job, because dtlaunch was absent for longer than their lease.
void end_as_outlived(Turn& turn, JobTime absent);
// After a ^Z and SIGCONT.
void continued(Turn& turn);

}  // namespace dtl::job
