// Compares nodes by names that may be long or short, and by `here`: the scheduler and the user may
// spell them differently.
#include "launcher/request/job_step.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dtl {
namespace {

using namespace std::chrono_literals;

// For the starter to reach all nodes: a prologue may take time, and so may a sleeping node.
constexpr auto kStepPatience = 60s;

// Keeps the nodes that may need agents.
void keep_wanted_nodes(StepPlan& step, const JobSettings& settings) {
  const Request& request = settings.request;
  // An elastic job may need any node later, and the step cannot grow.
  const bool any = settings.host_range.has_value();  // of those offered later
  const bool spares = any || request.max_restarts() > 0;
  // With one task per node, this host needs none, and a host with a user or a port is reached over
  // ssh instead.
  const bool tasks = !step.is_one_step();
  const auto wanted = [&](const Host& node) {
    const auto is_node = [&](const Host& host) {
      if (tasks && (!host.user.empty() || host.port != 0)) return false;  // over ssh
      return (host.here && node.here) || same_host_name(host.name, node.name);
    };
    return any || std::any_of(request.hosts.begin(), request.hosts.end(), is_node) ||
           (spares && std::any_of(settings.spares.begin(), settings.spares.end(), is_node)) ||
           // there other dtlaunch of a step wait to learn the end
           !step.beside.empty();
  };
  const std::vector<Host> all = std::move(step.nodes);
  const std::vector<int> lines = std::move(step.lines);
  step.nodes.clear();
  step.lines.clear();
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (!wanted(all[at]) || (tasks && all[at].here)) continue;  // this host needs no task
    step.nodes.push_back(all[at]);
    if (!lines.empty()) step.lines.push_back(lines[at]);
  }
  // srun needs no list of nodes if it uses all. Not beside another step, which may have fewer nodes
  // than the job.
  step.whole = step.beside.empty() && step.nodes.size() == all.size();
}

}  // namespace

void plan_step(const JobInputs& inputs, JobSettings& settings) {
  const CommandLine& line = inputs.line;
  if (settings.step) keep_wanted_nodes(*settings.step, settings);
  if (settings.step && settings.step->nodes.empty()) settings.step.reset();
  if (!settings.step) {
    if (line.starting.timeout && !inputs.nodes && !settings.hosts_patience) {
      // Here only, because no other code uses the option in this case.
      settings.notices.emplace_back(
          "--start-timeout is ignored: hosts that do not answer are named within 10 s");
    }
    return;
  }
  StepPlan& step = *settings.step;
  step.patience = line.starting.timeout
                      ? std::chrono::ceil<std::chrono::seconds>(*line.starting.timeout)
                      : kStepPatience;
  // A second longer than the step, so that its own error, with the starter's output, comes first.
  settings.job.start_deadline = step.patience + 1s;
  if (line.dry_run) settings.notices.push_back(step_notice(step));
}

}  // namespace dtl
