#pragma once
// LSF: variables have the hosts and their slots; `blaunch` starts agents. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kLsf;

}  // namespace dtl
