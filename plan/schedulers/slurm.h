#pragma once
// Slurm: allocations, in which agents start by one srun, and the steps that a user's srun has made
// in them, with a dtlaunch for each node or each rank. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kSlurm;

}  // namespace dtl
