#pragma once
// Pins for tasks that a scheduler started on one machine, each with one rank: a rank keeps to the
// CPUs that its task was bound to, since the task's limits apply to it. Pure.

#include <functional>
#include <string>
#include <vector>

#include "plan/pinning/pinning.h"

namespace dtl {

struct PinnedTask {
  PinSettings settings;
  const NodeTopology* topology;  // as the task's agent reported it; borrowed
  std::string host;              // for messages
};

// One domain for each task. If all are bound to the same CPUs, they divide these as the ranks of a
// node do. A quota applies to the whole machine. Throws Error(kConfig) that names the host.
std::vector<NodePins> pin_tasks(const std::vector<PinnedTask>& tasks);

}  // namespace dtl
