#pragma once
// What `dtlaunch doctor` checks about the scheduler whose job it runs in. One row for each
// scheduler whose settings decide how a job ends; other schedulers have none.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "plan/request/host.h"
#include "plan/schedulers/evidence.h"
#include "plan/schedulers/scheduler.h"

namespace dtl {

struct SchedulerSeen {
  std::string text;         // the answer to SchedulerCheck::question; may be empty
  bool by_step = false;     // agents start in a step of the job; otherwise over ssh
  std::vector<Host> nodes;  // max_slots: the CPUs that the job has there
};

struct SchedulerCheck {
  const Scheduler* scheduler;
  ToolQuestion question;  // asks for the settings
  void (*check)(const SchedulerSeen& seen, const std::vector<Examination>& hosts,
                std::vector<Finding>& findings);
};

// nullptr: no scheduler, or doctor does not check its settings.
const SchedulerCheck* find_scheduler_check(const Scheduler* scheduler);

}  // namespace dtl
