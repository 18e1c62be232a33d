#pragma once
// Slurm: allocations, and the steps of srun in them. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kSlurm;

}  // namespace dtl
