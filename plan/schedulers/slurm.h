#pragma once
// Slurm: allocations, where one srun starts agents, and steps that a user's srun created in them,
// with a dtlaunch for each node or each rank. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kSlurm;

}  // namespace dtl
