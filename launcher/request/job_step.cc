#include "launcher/request/job_step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/text.h"
#include "plan/name_list.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

// For the starter to reach all nodes: a prologue may take its time, and so may a node that was
// asleep.
constexpr auto kStepPatience = 60s;

// The engine has started others of us as well, which wait for this one.
bool is_first_of_several(const EngineEvidence& evidence) {
  return evidence.role == EngineRole::kLauncher && evidence.node_count.value_or(1) > 1;
}

StepPlan step_by_srun(const EngineEvidence& evidence, const std::string& srun) {
  StepPlan step;
  step.program = srun;
  step.job = evidence.job_id.substr(0, evidence.job_id.find('.'));
  if (is_first_of_several(evidence)) step.beside = evidence.job_id;
  step.nodes = evidence.hosts;
  return step;
}

}  // namespace

std::optional<std::string> program_on_path(const std::string& name, const Variables& environment) {
  for (const auto& [variable, value] : environment) {
    if (variable != "PATH") continue;
    for (const std::string& folder : split(value, ':')) {
      std::string file = folder + "/" + name;
      if (folder.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return std::nullopt;
}

void refuse_what_a_step_cannot(const CommandLine& line, const EngineEvidence& evidence) {
  const auto refuse = [](const std::string& option, const std::string& reason,
                         const std::string& hint) {
    throw Error(Exit::kUsage, option, reason, hint);
  };
  const bool several = evidence.node_count.value_or(1) > 1;
  if (several && line.agent_start && line.agent_start != AgentStart::kSrun) {
    refuse("-launcher", "srun has started dtlaunch on every node, and keeps it",
           "the same without it");
  }
  if (line.push) {
    refuse("--push", "srun brings no files to hosts", "dtlaunch in a folder that all hosts see");
  }
  if (line.reconnect && line.reconnect->count() > 0) {
    refuse("--reconnect", "a step of Slurm is not logged in to again once it is lost",
           "without it; or -launcher ssh, where Slurm allows that");
  }
  if (several && line.detach) {
    refuse("--detach", "srun has started dtlaunch on every node, and keeps it", "without it");
  }
}

std::optional<StepPlan> wanted_step(const CommandLine& line, const EngineEvidence& evidence,
                                    const Variables& environment,
                                    std::vector<std::string>& notices) {
  const bool asked = line.agent_start == AgentStart::kSrun;
  const bool offered =
      evidence.role == EngineRole::kLauncher && evidence.starter == EngineStarter::kSrun;
  if (asked && !offered) {
    throw Error(Exit::kUsage, "-launcher srun", "this is no job of Slurm that has hosts",
                "salloc or sbatch, and dtlaunch inside; --show-engine says what is seen");
  }
  if (!offered) return std::nullopt;
  if (is_first_of_several(evidence)) refuse_what_a_step_cannot(line, evidence);
  if (line.agent_start && !asked) return std::nullopt;
  if (const auto srun = program_on_path("srun", environment)) {
    refuse_what_a_step_cannot(line, evidence);
    return step_by_srun(evidence, *srun);
  }
  if (is_first_of_several(evidence)) {
    throw Error(Exit::kConfig, "cannot start agents", "there is no srun on PATH on this node",
                "DTL_TOKEN=$(openssl rand -hex 32) srun ... dtlaunch ..., by which the nodes find "
                "each other without it");
  }
  if (asked) {
    throw Error(Exit::kConfig, "-launcher srun", "there is no srun on PATH",
                "-launcher ssh, where Slurm allows that");
  }
  notices.emplace_back(
      "there is no srun on PATH: agents start over ssh, outside of the job's step");
  return std::nullopt;
}

void plan_step(const CommandLine& line, JobSettings& settings) {
  if (line.start_timeout && !line.nodes_have_come && !settings.step && !settings.hosts_patience) {
    settings.notices.emplace_back(
        "--start-timeout is ignored: hosts that do not answer are named within 10 s");
  }
  if (!settings.step) return;
  StepPlan& step = *settings.step;
  step.patience = line.start_timeout ? std::chrono::ceil<std::chrono::seconds>(*line.start_timeout)
                                     : kStepPatience;
  const Request& request = settings.request;
  const bool any = settings.host_range.has_value();  // of those that are offered later
  const bool spares = any || request.max_restarts > 0;
  const auto wanted = [&](const Host& node) {
    const auto is_node = [&](const Host& host) {
      return (host.here && node.here) || same_host_name(host.name, node.name);
    };
    return any || std::any_of(request.hosts.begin(), request.hosts.end(), is_node) ||
           (spares && std::any_of(settings.spares.begin(), settings.spares.end(), is_node)) ||
           // where the other ones of a step wait to be told the end
           !step.beside.empty();
  };
  const std::size_t all = step.nodes.size();
  std::erase_if(step.nodes, [&](const Host& node) { return !wanted(node); });
  // A step of which some wait beside may have fewer nodes than the job.
  step.whole = step.beside.empty() && step.nodes.size() == all;
  settings.job.start_deadline = step.patience + 1s;
  if (!line.dry_run) return;
  std::vector<std::string> names;
  for (const Host& node : step.nodes) names.push_back(node.name);
  settings.notices.push_back(fmt::format("agents start by srun, in one step of job {}, on {}",
                                         step.job, first_names(names)));
}

}  // namespace dtl
