#pragma once
// What `dtlaunch doctor` says of Slurm, inside a job of it. Pure.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "plan/request/host.h"

namespace dtl {

struct SlurmSeen {
  std::string text;         // what `srun --version; scontrol show config` print; may be empty
  bool by_srun = false;     // agents start in a step; else over ssh
  std::vector<Host> nodes;  // max_slots: the CPUs that the job has there
};

void check_slurm(const SlurmSeen& slurm, const std::vector<Examination>& hosts,
                 std::vector<Finding>& findings);

}  // namespace dtl
