#pragma once
// Grid Engine, in all of its families: a file with a line for each host. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kGridEngine;

}  // namespace dtl
