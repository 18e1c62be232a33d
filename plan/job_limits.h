#pragma once
// Limits of the kernel that would stop some nodes after ranks have been started on others.
// job_plan.cc checks them, so that a job is refused as a whole and before anything starts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "plan/job_plan.h"
#include "plan/request/host.h"

namespace dtl {

// Throws Error(kUsage) when an argument, a variable or all variables together are too long. The
// limits are those of Linux, except for the sum, which is ours (base/limits.h).
void check_sizes(const RankPlan& rank);

// most: descriptors that the node's agent may have open; 0: unknown, and then nothing is refused.
// host: null for the local machine. Throws Error(kOs) when the agent cannot hold the pipes of that
// many ranks.
void check_descriptors(const std::string& name, const Host* host, std::size_t ranks,
                       std::uint32_t most);

}  // namespace dtl
