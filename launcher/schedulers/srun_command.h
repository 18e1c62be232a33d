#pragma once
// SrunWish: the one srun that starts agents on the nodes of a Slurm allocation: its arguments and
// environment. One srun for all nodes makes one step, which Slurm accounts for and ends as a whole.
// srun_starter.h decides when to use it. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

struct SlurmVersion {
  int year = 0, month = 0;  // 22.05

  auto operator<=>(const SlurmVersion&) const = default;
};

// Debian's says "slurm-wlm", so the first word must only begin with "slurm".
std::optional<SlurmVersion> parse_slurm_version(std::string_view text);

struct SrunWish {
  std::string srun = "srun";
  std::vector<std::string> nodes;       // one task on each
  bool whole = false;                   // these are all nodes of the allocation
  std::optional<SlurmVersion> version;  // absent: unknown; then only options of every srun
  std::vector<std::string> command;     // of each task
};

std::vector<std::string> srun_arguments(const SrunWish& wish);

// The environment for srun. Keeps the variables that identify the job. Leaves out those meant for
// the step or batch script around dtlaunch (task count, binding, output): srun would use them as
// its own options.
Variables srun_environment(const Variables& own);

}  // namespace dtl
