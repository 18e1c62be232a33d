// Nodes are compared by names that may be long or short, and by `here`; the scheduler and the user
// need not spell them alike.
#include "launcher/request/job_step.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dtl {
namespace {

using namespace std::chrono_literals;

// For the starter to reach all nodes: a prologue may take its time, and so may a node that was
// asleep.
constexpr auto kStepPatience = 60s;

// Leaves the nodes where agents may be wanted.
void keep_wanted_nodes(StepPlan& step, const JobSettings& settings) {
  const Request& request = settings.request;
  // A job whose size may change can want any node later, and the step cannot be enlarged.
  const bool any = settings.host_range.has_value();  // of those that are offered later
  const bool spares = any || request.max_restarts() > 0;
  // Where each node has a task of its own, this host needs none, and a host with a user or a port
  // is reached over ssh instead.
  const bool tasks = !step.is_one_step();
  const auto wanted = [&](const Host& node) {
    const auto is_node = [&](const Host& host) {
      if (tasks && (!host.user.empty() || host.port != 0)) return false;  // over ssh
      return (host.here && node.here) || same_host_name(host.name, node.name);
    };
    return any || std::any_of(request.hosts.begin(), request.hosts.end(), is_node) ||
           (spares && std::any_of(settings.spares.begin(), settings.spares.end(), is_node)) ||
           // where the other ones of a step wait to be told the end
           !step.beside.empty();
  };
  const std::vector<Host> all = std::move(step.nodes);
  const std::vector<int> lines = std::move(step.lines);
  step.nodes.clear();
  step.lines.clear();
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (!wanted(all[at]) || (tasks && all[at].here)) continue;  // where the job runs, it counts
    step.nodes.push_back(all[at]);
    if (!lines.empty()) step.lines.push_back(lines[at]);
  }
  // A step of which some wait beside may have fewer nodes than the job.
  // srun then needs no list of nodes.
  step.whole = step.beside.empty() && step.nodes.size() == all.size();
}

}  // namespace

void plan_step(const JobInputs& inputs, JobSettings& settings) {
  const CommandLine& line = inputs.line;
  if (settings.step) keep_wanted_nodes(*settings.step, settings);
  if (settings.step && settings.step->nodes.empty()) settings.step.reset();
  if (!settings.step) {
    if (line.starting.timeout && !inputs.nodes && !settings.hosts_patience) {
      // Only here, where nothing else keeps to it: one line says so, and no other code does.
      settings.notices.emplace_back(
          "--start-timeout is ignored: hosts that do not answer are named within 10 s");
    }
    return;
  }
  StepPlan& step = *settings.step;
  step.patience = line.starting.timeout
                      ? std::chrono::ceil<std::chrono::seconds>(*line.starting.timeout)
                      : kStepPatience;
  // A second more than the step has, so that its own error, with the starter's words, comes first.
  settings.job.start_deadline = step.patience + 1s;
  if (line.dry_run) settings.notices.push_back(step_notice(step));
}

}  // namespace dtl
