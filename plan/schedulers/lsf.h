#pragma once
// LSF: hosts and their slots in variables, and agents by `blaunch`. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kLsf;

}  // namespace dtl
