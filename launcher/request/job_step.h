#pragma once
// Chooses the nodes of a step that need agents. A scheduler's allocation may have more nodes than
// the job has hosts, and further agents would only cost time. Changes only the plan of the step;
// launcher/step starts it.

#include "launcher/request/job_request.h"

namespace dtl {

// Keeps only the needed nodes of settings.step, once hosts and spare hosts are known. If none is
// left, removes the step, and no starter runs. Also sets how long to wait for its nodes.
void plan_step(const JobInputs& inputs, JobSettings& settings);

}  // namespace dtl
