#pragma once
// PBS Pro, OpenPBS and Torque: a file with a line for each slot; PBS's task manager starts agents.
// Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kPbs;

}  // namespace dtl
