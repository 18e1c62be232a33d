#include "launcher/request/job_step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "plan/request/name_list.h"

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

std::optional<std::string> program_in(const std::string& folder, const std::string& name) {
  std::string file = folder + "/" + name;
  if (!folder.starts_with('/') || ::access(file.c_str(), X_OK) != 0) return std::nullopt;
  return file;
}

std::string variable_of(const Variables& environment, std::string_view wanted) {
  for (const auto& [name, value] : environment) {
    if (name == wanted) return value;
  }
  return {};
}

std::optional<std::string> program_on_path(const std::string& name, const Variables& environment) {
  for (const std::string& folder : split(variable_of(environment, "PATH"), ':')) {
    if (auto file = program_in(folder, name)) return file;
  }
  return std::nullopt;
}

// ---- Slurm

StepPlan plan_of_srun(const EngineEvidence& evidence, const std::string& srun) {
  StepPlan step;
  step.program = srun;
  step.only = true;
  step.job = evidence.job_id.substr(0, evidence.job_id.find('.'));
  if (is_first_of_several(evidence)) step.beside = evidence.job_id;
  step.nodes = evidence.hosts;
  return step;
}

std::optional<StepPlan> step_by_srun(const CommandLine& line, const EngineEvidence& evidence,
                                     const Variables& environment,
                                     std::vector<std::string>& notices) {
  const bool asked = line.agent_start == AgentStart::kSrun;
  if (is_first_of_several(evidence)) refuse_what_a_step_cannot(line, evidence);
  if (line.agent_start && !asked) return std::nullopt;
  if (const auto srun = program_on_path("srun", environment)) {
    refuse_what_a_step_cannot(line, evidence);
    return plan_of_srun(evidence, *srun);
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

// ---- PBS

bool is_of_pbs(std::optional<AgentStart> how) {
  return how == AgentStart::kPbs || how == AgentStart::kTmrsh || how == AgentStart::kPbsdsh;
}

// Those that may do, the best first.
std::vector<std::string> tm_programs(std::optional<AgentStart> asked) {
  if (asked == AgentStart::kTmrsh) return {"pbs_tmrsh"};
  if (asked == AgentStart::kPbsdsh) return {"pbsdsh"};
  return {"pbs_tmrsh", "pbsdsh"};
}

std::optional<std::string> find_tm_program(std::optional<AgentStart> asked,
                                           const Variables& environment) {
  for (const std::string& name : tm_programs(asked)) {
    if (auto file = program_in(variable_of(environment, "PBS_EXEC") + "/bin", name)) return file;
    if (auto file = program_on_path(name, environment)) return file;
  }
  return std::nullopt;
}

std::string no_tm_program(std::optional<AgentStart> asked) {
  return fmt::format("there is no {} on PATH or in $PBS_EXEC/bin",
                     join(tm_programs(asked), " or "));
}

// What its tasks cannot do; empty: nothing of that is asked for.
std::pair<std::string, std::string> refused_by_tm(const CommandLine& line) {
  if (line.push) return {"--push", "PBS brings no files to hosts"};
  if (line.reconnect && line.reconnect->count() > 0) {
    return {"--reconnect", "a task of PBS is not logged in to again once it is lost"};
  }
  return {};
}

std::optional<StepPlan> step_by_tm(const CommandLine& line, const EngineEvidence& evidence,
                                   const Variables& environment,
                                   std::vector<std::string>& notices) {
  constexpr std::string_view kBySsh = "agents start over ssh, outside of what PBS counts and ends";
  const bool asked = is_of_pbs(line.agent_start);
  if (line.agent_start && !asked) return std::nullopt;
  const auto program = find_tm_program(line.agent_start, environment);
  const auto [option, reason] = refused_by_tm(line);
  if (asked && !program) {
    throw Error(Exit::kConfig, "-launcher", no_tm_program(line.agent_start),
                "PATH=/opt/pbs/bin:$PATH, or -launcher ssh, where PBS allows that");
  }
  if (asked && !option.empty()) {
    throw Error(Exit::kUsage, option, reason,
                "without it; or -launcher ssh, where PBS allows that");
  }
  const bool has_others = std::any_of(evidence.hosts.begin(), evidence.hosts.end(),
                                      [](const Host& host) { return !host.here; });
  if (!has_others && !asked) return std::nullopt;
  if (!program || !option.empty()) {
    notices.push_back(!program ? fmt::format("{}: {}", no_tm_program(line.agent_start), kBySsh)
                               : fmt::format("{}: {}: {}", option, reason, kBySsh));
    return std::nullopt;
  }
  StepPlan step;
  step.by = EngineStarter::kTm;
  step.program = *program;
  step.job = evidence.job_id;
  step.nodes = evidence.hosts;
  step.lines = evidence.host_lines;
  step.only = asked;
  step.meeting_host = own_host_name();
  for (const Host& host : evidence.hosts) {
    if (host.here) step.meeting_host = host.name;
  }
  return step;
}

std::string starter_notice(const StepPlan& step) {
  std::vector<std::string> names;
  for (const Host& node : step.nodes) names.push_back(node.name);
  const std::string by = step.by == EngineStarter::kTm
                             ? step.program.substr(step.program.rfind('/') + 1)
                             : std::string("srun, in one step");
  return fmt::format("agents start by {}{} of job {}, on {}", by,
                     step.by == EngineStarter::kTm ? ", in tasks" : "", step.job,
                     first_names(names));
}

// Leaves the nodes where agents may be wanted.
void keep_wanted_nodes(StepPlan& step, const JobSettings& settings) {
  const Request& request = settings.request;
  const bool any = settings.host_range.has_value();  // of those that are offered later
  const bool spares = any || request.max_restarts > 0;
  const bool by_tm = step.by == EngineStarter::kTm;
  const auto wanted = [&](const Host& node) {
    const auto is_node = [&](const Host& host) {
      if (by_tm && (!host.user.empty() || host.port != 0)) return false;  // over ssh
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
    if (!wanted(all[at]) || (by_tm && all[at].here)) continue;  // where the job runs, it counts
    step.nodes.push_back(all[at]);
    if (by_tm) step.lines.push_back(lines[at]);
  }
  // A step of which some wait beside may have fewer nodes than the job.
  step.whole = step.beside.empty() && step.nodes.size() == all.size();
}

}  // namespace

void find_starter(std::optional<AgentStart> asked, const Variables& environment,
                  EngineEvidence& evidence) {
  if (evidence.starter == EngineStarter::kSrun) {
    if (program_on_path("srun", environment)) return;
    evidence.follows.push_back("there is no srun on PATH");
  } else if (evidence.starter == EngineStarter::kTm) {
    if (auto program = find_tm_program(asked, environment)) {
      evidence.starter_path = std::move(*program);
      return;
    }
    evidence.follows.push_back(no_tm_program(asked));
  } else {
    return;
  }
  evidence.starter = EngineStarter::kSsh;
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
  const auto offered = [&](EngineStarter starter) {
    return evidence.role == EngineRole::kLauncher && evidence.starter == starter;
  };
  if (line.agent_start == AgentStart::kSrun && !offered(EngineStarter::kSrun)) {
    throw Error(Exit::kUsage, "-launcher srun", "this is no job of Slurm that has hosts",
                "salloc or sbatch, and dtlaunch inside; --show-engine says what is seen");
  }
  if (is_of_pbs(line.agent_start) && !offered(EngineStarter::kTm)) {
    throw Error(Exit::kUsage, "-launcher pbs", "this is no job of PBS",
                "qsub, and dtlaunch inside; --show-engine says what is seen");
  }
  if (offered(EngineStarter::kSrun)) return step_by_srun(line, evidence, environment, notices);
  if (offered(EngineStarter::kTm)) return step_by_tm(line, evidence, environment, notices);
  return std::nullopt;
}

void plan_step(const CommandLine& line, JobSettings& settings) {
  if (settings.step) keep_wanted_nodes(*settings.step, settings);
  if (settings.step && settings.step->nodes.empty()) settings.step.reset();
  if (!settings.step) {
    if (line.start_timeout && !line.nodes_have_come && !settings.hosts_patience) {
      settings.notices.emplace_back(
          "--start-timeout is ignored: hosts that do not answer are named within 10 s");
    }
    return;
  }
  StepPlan& step = *settings.step;
  step.patience = line.start_timeout ? std::chrono::ceil<std::chrono::seconds>(*line.start_timeout)
                                     : kStepPatience;
  settings.job.start_deadline = step.patience + 1s;
  if (line.dry_run) settings.notices.push_back(starter_notice(step));
}

}  // namespace dtl
