#pragma once
// What --dry-run prints with --json: dtlaunch-json(7). Values that look secret are masked. Pure.

#include <string>

#include "plan/job_plan.h"

namespace dtl {

std::string plan_answer(const JobPlan& plan);

}  // namespace dtl
