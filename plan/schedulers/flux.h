#pragma once
// Flux: its tasks, one on each node or one for each rank. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kFlux;

}  // namespace dtl
