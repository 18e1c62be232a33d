#pragma once
// What a scheduler's step or tasks run on each node: it goes to the dtlaunch that has asked for it
// and starts agents as that says. And a dtlaunch that waits, on a node where the scheduler has
// started it beside the first node's, for that one's job to end.

#include <chrono>
#include <string>

#include "base/fd.h"
#include "launcher/join/join_caller.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Goes to the launcher, with what the scheduler has told this node of it. Returns the job's exit
// status; throws Error.
int join_as_node(JoinCall call, const std::string& agent_path);

// The token in a file that another node has written, which this one may see a moment later. Throws
// Error(kBadInput).
std::string read_token_in(const std::string& path, const std::string& node);

// The dtlaunch of that step that waits on this node. Throws Error(kTimeout).
Fd connect_to_waiter(const std::string& step);
// Ends its wait, with the job's exit status.
void release_waiter(const Fd& waiter, int status);

// Whether this process is one that waits.
bool waits_for_first_node(const SchedulerEvidence& evidence);
// The job's exit status. 137 when the first node's dtlaunch is lost, 143 (128 + n) when signal n
// came before it had begun. Throws Error(kTimeout).
int wait_for_first_node(const SchedulerEvidence& evidence, std::chrono::seconds patience);

}  // namespace dtl
