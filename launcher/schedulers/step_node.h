#pragma once
// The nodes' side of a step: the dtlaunch that a scheduler's step or task runs on each node. It
// connects to the dtlaunch that requested it and starts agents on request. Also the dtlaunch that
// the scheduler has started on another node than the first, and that waits there until the first
// node's job ends. Nothing here depends on the scheduler.

#include <chrono>
#include <string>

#include "base/fd.h"
#include "launcher/join/join_caller.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// Joins the launcher's room with what the scheduler told this node, and blocks until the job has
// ended. Returns the job's exit status; throws Error.
int join_as_node(JoinCall call, const std::string& agent_path);

// The token in a file that another node has written; on a network folder it may appear a moment
// later. node: its name, for messages. Throws Error(kBadInput).
std::string read_token_in(const std::string& path, const std::string& node);

// Connects to the dtlaunch of that step that waits, or soon will, on this node. The wait ends when
// the connection does. Throws Error(kTimeout).
Fd connect_to_waiter(const std::string& step);
// Ends its wait and gives it the job's exit status.
void release_waiter(const Fd& waiter, int status);

// Whether this process must wait: the scheduler brings agents to all nodes, and this node is not
// the first.
bool waits_for_first_node(const SchedulerEvidence& evidence);
// Waits up to `patience` for the first node's step to reach this node, and then for the job's end.
// Returns the job's exit status; 137 if the first node's dtlaunch is lost, 128 + n if signal n
// arrived before the job had begun. Throws Error(kTimeout).
int wait_for_first_node(const SchedulerEvidence& evidence, std::chrono::seconds patience);

}  // namespace dtl
