#pragma once
// On which nodes of its step a job wants agents. A scheduler's allocation may have more nodes than
// the job has hosts, and an agent there would only cost time. Only the plan of the step is changed
// here; launcher/step starts it.

#include "launcher/request/job_request.h"

namespace dtl {

// Leaves the nodes of settings.step that are wanted, once hosts and spare ones are known. If none
// is left, the step is gone, and no starter runs. Also sets how long its nodes may take to come.
void plan_step(const JobInputs& inputs, JobSettings& settings);

}  // namespace dtl
