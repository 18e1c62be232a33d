#include "launcher/doctor/scheduler_check.h"

#include <algorithm>
#include <array>

#include "launcher/doctor/slurm_check.h"
#include "plan/schedulers/slurm.h"

namespace dtl {

const SchedulerCheck* find_scheduler_check(const Scheduler* scheduler) {
  static const std::array kChecks{
      SchedulerCheck{&kSlurm, slurm_settings_question(), check_slurm},
  };
  const auto* const found =
      std::find_if(kChecks.begin(), kChecks.end(),
                   [&](const SchedulerCheck& each) { return each.scheduler == scheduler; });
  return found == kChecks.end() ? nullptr : &*found;
}

}  // namespace dtl
