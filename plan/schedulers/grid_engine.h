#pragma once
// Grid Engine, all families: a file with a line for each host; `qrsh -inherit` starts agents. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kGridEngine;

}  // namespace dtl
