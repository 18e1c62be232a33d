// `allowed` of each task is what the scheduler bound it to.
#include "plan/pinning/task_pins.h"

#include <algorithm>
#include <utility>

namespace dtl {
namespace {

// A scheduler that binds nothing gives all tasks the same CPUs. If each task divided them
// separately, all ranks would get the first cores.
std::vector<NodePins> divided(const std::vector<PinnedTask>& tasks) {
  NodePins all = pin_node(tasks[0].settings, *tasks[0].topology, static_cast<int>(tasks.size()),
                          tasks[0].host);
  std::vector<NodePins> pins(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    pins[i].domains.push_back(std::move(all.domains[i]));
  }
  // They concern the machine, so one task reports them.
  pins[0].warnings = std::move(all.warnings);
  pins[0].notes = std::move(all.notes);
  return pins;
}

}  // namespace

std::vector<NodePins> pin_tasks(const std::vector<PinnedTask>& tasks) {
  const CpuSet& first = tasks[0].topology->allowed;
  const bool together = std::all_of(tasks.begin(), tasks.end(), [&](const PinnedTask& task) {
    return task.topology->allowed == first;
  });
  if (together) return divided(tasks);
  std::vector<NodePins> pins;
  for (const PinnedTask& task : tasks) {
    NodeTopology own = *task.topology;
    // Each task's agent reports the quota of the whole machine.
    own.quota_cpus /= static_cast<double>(tasks.size());
    pins.push_back(pin_node(task.settings, own, 1, task.host));
  }
  return pins;
}

}  // namespace dtl
