#pragma once
// Grid Engine, in all of its families: a file with a line for each host, and agents by `qrsh
// -inherit`. Pure.

#include "plan/schedulers/scheduler.h"

namespace dtl {

extern const Scheduler kGridEngine;

}  // namespace dtl
