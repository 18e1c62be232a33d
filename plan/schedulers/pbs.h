#pragma once
// PBS Pro, OpenPBS and Torque: a file with a line for each slot, and agents by PBS's task manager.
// Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kPbs;

}  // namespace dtl
