#pragma once
// What the kernel would refuse on some of the nodes when ranks have been started on others: said
// before anything is started.

#include <cstddef>
#include <cstdint>
#include <string>

#include "plan/job_plan.h"
#include "plan/request/host.h"

namespace dtl {

// Throws Error(kUsage) when an argument, a variable or all variables together are too long.
void check_sizes(const RankPlan& rank);

// most: descriptors that the node's agent may have open; 0: unknown. host: null for the local
// machine. Throws Error(kOs) when that is too few for so many ranks.
void check_descriptors(const std::string& name, const Host* host, std::size_t ranks,
                       std::uint32_t most);

}  // namespace dtl
