#pragma once
// The settings of Slurm that matter to a job: how long ranks have to save their work after scancel,
// what holds their processes, which CPUs a step sees. Pure.

#include <vector>

#include "launcher/doctor/scheduler_check.h"

namespace dtl {

// The first line of the answer has Slurm's version.
ToolQuestion slurm_settings_question();

// Adds to `findings`. Does not throw, whatever Slurm's programs print.
void check_slurm(const SchedulerSeen& slurm, const std::vector<Examination>& hosts,
                 std::vector<Finding>& findings);

}  // namespace dtl
