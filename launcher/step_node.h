#pragma once
// The other processes of a job in a step: what srun, or PBS's task manager, starts on each node,
// which goes to the dtlaunch that has asked for it and starts agents as that says; and dtlaunch on
// a node where Slurm has started it beside the first node's, which waits for that one's job to end.

#include <chrono>
#include <string>
#include <vector>

#include "plan/engines/engine.h"

namespace dtl {

// The first word of srun's command on each node; behind it the port, and the step in which another
// dtlaunch waits on the same node.
constexpr const char* kStepNode = "step-node";

// Takes the job's token out of the environment. Returns the job's exit status; throws Error.
int run_step_node(const std::vector<std::string>& words, const std::string& agent_path);

// The first word of the command of pbs_tmrsh and pbsdsh; behind it TmNodeWords.
constexpr const char* kTmNode = "tm-node";

// The same for PBS: it has the token from the file.
int run_tm_node(const std::vector<std::string>& words, const std::string& agent_path);

// Whether this process is one that waits.
bool waits_for_first_node(const EngineEvidence& evidence);
// The job's exit status. 137 when the first node's dtlaunch is lost, 143 (128 + n) when signal n
// came before it had begun. Throws Error(kTimeout).
int wait_for_first_node(const EngineEvidence& evidence, std::chrono::seconds patience);

}  // namespace dtl
