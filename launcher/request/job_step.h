#pragma once
// Where the agents of a job start in a step, by the engine's own starter: whether they do, and on
// which nodes.

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "launcher/request/job_request.h"
#include "plan/engines/engine.h"

namespace dtl {

// Of the starters of Slurm and PBS: where this one lies, and ssh in its place, with a sentence,
// where it is not there.
void find_starter(std::optional<AgentStart> asked, const Variables& environment,
                  EngineEvidence& evidence);

// Options that do not go together with agents in a step of Slurm; on every node where Slurm has
// started dtlaunch. Throws Error(kUsage).
void refuse_what_a_step_cannot(const CommandLine& line, const EngineEvidence& evidence);

// The step in which agents are to start, with all nodes that it may have; nullopt: they start
// otherwise, and `notices` has the reason where that is one. Throws Error.
std::optional<StepPlan> wanted_step(const CommandLine& line, const EngineEvidence& evidence,
                                    const Variables& environment,
                                    std::vector<std::string>& notices);

// On which of these nodes, once hosts and spare ones are known.
void plan_step(const CommandLine& line, JobSettings& settings);

}  // namespace dtl
