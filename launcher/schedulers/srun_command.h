#pragma once
// SrunWish: the one srun by which agents come to the nodes of an allocation of Slurm: its arguments
// and its environment. One srun for all nodes makes one step, which Slurm accounts for and ends as
// a whole. Who asks for it and when is srun_starter.h's business. Pure.

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

// Debian's says "slurm-wlm", so the first word only has to begin with "slurm".
std::optional<SlurmVersion> parse_slurm_version(std::string_view text);

struct SrunWish {
  std::string srun = "srun";
  std::vector<std::string> nodes;       // a task on each
  bool whole = false;                   // these are all of the allocation
  std::optional<SlurmVersion> version;  // absent: not known; only what every srun takes
  std::vector<std::string> command;     // of each task
};

std::vector<std::string> srun_arguments(const SrunWish& wish);

// The environment for srun. It keeps what says which job this is. It leaves out what was meant for
// the step or the batch script that dtlaunch itself runs in (a task count, a binding, where output
// goes): srun would take these for its own options.
Variables srun_environment(const Variables& own);

}  // namespace dtl
