#pragma once
// Flux: its tasks, one on each node or one for each rank, and scripts and shells of an instance,
// from which `flux exec` starts agents. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kFlux;

}  // namespace dtl
