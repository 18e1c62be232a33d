#pragma once
// Kernel limits that would stop some nodes after ranks have started on others. job_plan.cc checks
// them, to reject the whole job before anything starts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "plan/job_plan.h"
#include "plan/request/host.h"

namespace dtl {

// Throws Error(kUsage) if an argument, a variable or the whole environment is too long. The limits
// are those of Linux, except for the sum, which is ours (base/limits.h).
void check_sizes(const RankPlan& rank);

// most: descriptors that the node's agent may open; 0: unknown, so nothing is rejected. host: null
// for the local machine. Throws Error(kOs) if the agent cannot hold the pipes of `ranks` ranks.
void check_descriptors(const std::string& name, const Host* host, std::size_t ranks,
                       std::uint32_t most);

}  // namespace dtl
