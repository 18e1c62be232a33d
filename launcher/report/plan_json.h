#pragma once
// What --dry-run prints with --json: dtlaunch-json(7). Values that look secret are masked. Pure.

#include <string>

#include "plan/job_plan.h"

namespace dtl {

// The width of a terminal means nothing to it.
std::string plan_answer(const JobPlan& plan, int columns = 0);

}  // namespace dtl
