#pragma once
// On which nodes of its step a job wants agents.

#include "launcher/request/job_request.h"

namespace dtl {

// Leaves the nodes of settings.step that are wanted, once hosts and spare ones are known; without
// any, the step is gone. Says how long its nodes may take.
void plan_step(const JobInputs& inputs, JobSettings& settings);

}  // namespace dtl
