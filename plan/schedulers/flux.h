#pragma once
// Flux: its tasks, one per node or one per rank, and scripts and shells of an instance, from which
// `flux exec` starts agents. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kFlux;

}  // namespace dtl
