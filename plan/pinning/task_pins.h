#pragma once
// The pins of tasks that a scheduler has started on one machine, each with a rank of its own: a
// rank keeps to the CPUs that its task was bound to, since the limits of the task hold for it.
// Pure.

#include <functional>
#include <string>
#include <vector>

#include "plan/pinning/pinning.h"

namespace dtl {

struct PinnedTask {
  PinSettings settings;
  const NodeTopology* topology;  // what the task's agent has found; borrowed
  std::string host;              // for messages
};

// One domain for each. Where all are bound to the same CPUs, they divide these as the ranks of a
// node do. A quota is the machine's. Throws Error(kConfig) that names the host.
std::vector<NodePins> pin_tasks(const std::vector<PinnedTask>& tasks);

}  // namespace dtl
