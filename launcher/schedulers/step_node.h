#pragma once
// The node's side of a step: what a scheduler's step or tasks run on each node. It goes to the
// dtlaunch that has asked for it and starts agents as that says. And a dtlaunch that waits, on a
// node where the scheduler has started it beside the first node's, for that one's job to end.
// Nothing here knows one scheduler from another.

#include <chrono>
#include <string>

#include "base/fd.h"
#include "launcher/join/join_caller.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Goes to the launcher, with what the scheduler has told this node of it, and blocks until the job
// has ended. Returns the job's exit status; throws Error.
int join_as_node(JoinCall call, const std::string& agent_path);

// The token in a file that another node has written, which this one may see a moment later. node:
// its name, for messages. Throws Error(kBadInput).
std::string read_token_in(const std::string& path, const std::string& node);

// Connects to the dtlaunch of that step that waits on this node, and may not have begun to. The
// wait ends when the connection does. Throws Error(kTimeout).
Fd connect_to_waiter(const std::string& step);
// Ends its wait, with the job's exit status.
void release_waiter(const Fd& waiter, int status);

// Whether this process is one that waits: the scheduler brings agents to all nodes, and this is not
// the first.
bool waits_for_first_node(const SchedulerEvidence& evidence);
// Waits, for `patience` until the first node's step has come to this node, and then until the job's
// end. Returns the job's exit status; 137 when the first node's dtlaunch is lost, 143 (128 + n)
// when signal n came before it had begun. Throws Error(kTimeout).
int wait_for_first_node(const SchedulerEvidence& evidence, std::chrono::seconds patience);

}  // namespace dtl
