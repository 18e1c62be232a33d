#include "launcher/request/job_engine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/request/pod_keys.h"
#include "plan/host_token.h"
#include "plan/name_list.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

// For srun to start its step: a prologue may take its time, and so may a node that was asleep.
constexpr auto kStepPatience = 60s;

// Those that this process may run on, and the part of them that its control group gives it.
int usable_cpus() {
  cpu_set_t* cpus = CPU_ALLOC(65536);
  const std::size_t size = CPU_ALLOC_SIZE(65536);
  const bool known = cpus != nullptr && ::sched_getaffinity(0, size, cpus) == 0;
  const int count = known ? CPU_COUNT_S(size, cpus) : 0;
  CPU_FREE(cpus);
  const double quota = read_cgroup_limits("").quota_cpus;
  return quota > 0 && quota < count ? static_cast<int>(std::ceil(quota)) : count;
}

int numa_nodes() {
  int nodes = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/sys/devices/system/node", failed), end;
       !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("node") && parse_integer(name.substr(4), 0, INT32_MAX)) ++nodes;
  }
  return nodes;
}

// These files are the engine's own, and are not always of this user or root.
std::optional<std::string> read_engine_file(const std::string& path, std::string& problem) {
  try {
    return read_regular_file(path, kMaxHostfileBytes);
  } catch (const Error& error) {
    problem = error.reason();
    return std::nullopt;
  }
}

const Host* find_in(const std::vector<Host>& allocation, const std::string& name) {
  const bool here = is_loopback_name(name);
  const auto found = std::find_if(allocation.begin(), allocation.end(), [&](const Host& host) {
    return here ? host.here : same_host_name(host.name, name);
  });
  return found == allocation.end() ? nullptr : &*found;
}

// Of which each would start the whole job, if it were told the hosts.
bool is_one_of_several(const EngineEvidence& evidence) {
  return evidence.role != EngineRole::kLauncher &&
         (evidence.hosts_are_all || evidence.engine == Engine::kFlux);
}

void refuse_copies(const EngineEvidence& evidence) {
  if (!is_one_of_several(evidence)) return;
  throw Error(Exit::kUsage, "the hosts are named",
              fmt::format("{} has started several of dtlaunch, and each would start the job",
                          engine_name(evidence.engine)),
              evidence.engine == Engine::kFlux ? "dtlaunch once, without flux run"
                                               : "dtlaunch once, without srun");
}

// Nodes come together before the job is described (launcher/node_role.h), with their hosts named.
void refuse_role(const EngineEvidence& evidence) {
  if (evidence.refusal) {
    throw Error(Exit::kUsage, evidence.refusal->attempted, evidence.refusal->reason,
                evidence.refusal->hint);
  }
  if (evidence.role == EngineRole::kLauncher) return;
  if (evidence.role == EngineRole::kNode && evidence.node_count == 1) return;
  throw Error(Exit::kUsage,
              fmt::format("this is one of several nodes of {}", engine_name(evidence.engine)),
              "the first of them alone describes the job",
              "dtlaunch --show-engine; --engine none, for a job on this machine alone");
}

bool is_on_path(const std::string& program, const Variables& environment) {
  for (const auto& [name, value] : environment) {
    if (name != "PATH") continue;
    for (const std::string& folder : split(value, ':')) {
      if (folder.starts_with('/') && ::access((folder + "/" + program).c_str(), X_OK) == 0) {
        return true;
      }
    }
  }
  return false;
}

// The engine has started others of us as well, which wait for this one.
bool is_first_of_several(const EngineEvidence& evidence) {
  return evidence.role == EngineRole::kLauncher && evidence.node_count.value_or(1) > 1;
}

// Whether agents are to start in a step of Slurm.
bool wants_step(const CommandLine& line, const EngineEvidence& evidence,
                const Variables& environment, std::vector<std::string>& notices) {
  const bool asked = line.agent_start == AgentStart::kSrun;
  const bool offered =
      evidence.role == EngineRole::kLauncher && evidence.starter == EngineStarter::kSrun;
  if (asked && !offered) {
    throw Error(Exit::kUsage, "-launcher srun", "this is no job of Slurm that has hosts",
                "salloc or sbatch, and dtlaunch inside; --show-engine says what is seen");
  }
  if (!offered) return false;
  if (is_first_of_several(evidence)) refuse_what_a_step_cannot(line, evidence);
  if (line.agent_start && !asked) return false;
  if (asked || is_on_path("srun", environment)) return true;
  if (is_first_of_several(evidence)) {
    throw Error(Exit::kConfig, "cannot start agents", "there is no srun on PATH on this node",
                "DTL_TOKEN=$(openssl rand -hex 32) srun ... dtlaunch ..., by which the nodes find "
                "each other without it");
  }
  notices.emplace_back(
      "there is no srun on PATH: agents start over ssh, outside of the job's step");
  return false;
}

std::vector<std::string> carrier_of(const EngineEvidence& evidence, std::optional<AgentStart> how) {
  const bool asked = how == AgentStart::kBlaunch || how == AgentStart::kQrsh;
  if (how && !asked) return {};
  const auto program = [&](EngineStarter starter, const std::string& name) {
    const bool named = evidence.starter == starter && !evidence.starter_path.empty();
    return named ? evidence.starter_path : name;
  };
  if (how == AgentStart::kBlaunch || (!how && evidence.starter == EngineStarter::kBlaunch)) {
    return {program(EngineStarter::kBlaunch, "blaunch")};
  }
  if (how == AgentStart::kQrsh || (!how && evidence.starter == EngineStarter::kQrsh)) {
    return {program(EngineStarter::kQrsh, "qrsh"), "-inherit", "-V"};
  }
  return {};
}

}  // namespace

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

EngineEvidence read_engine(std::optional<Engine> wanted, const Surroundings& around) {
  const EngineQuestions questions = engine_questions(around.environment, wanted);
  EngineAnswers answers;
  answers.host_name = own_host_name();
  answers.cpus = usable_cpus();
  answers.numa_nodes = numa_nodes();
  answers.has_token = around.has_token;
  if (!questions.file.empty()) {
    answers.file = read_engine_file(questions.file, answers.file_problem);
  }
  if (questions.pod_keys) answers.pod_keys = find_pod_keys(around.environment);
  if (!questions.running.empty() && ::access(questions.running.c_str(), R_OK) == 0) {
    std::string ignored;
    answers.running = read_engine_file(questions.running, ignored);
  }
  if (!questions.expression.empty() && around.scontrol) {
    answers.hostnames = around.scontrol(questions.expression);
  }
  if (!questions.flux_job.empty() && around.flux_hosts) {
    answers.hostnames = around.flux_hosts(questions.flux_job);
  }
  return find_engine(around.environment, wanted, answers);
}

void check_tasks(const CommandLine& line, const EngineEvidence& evidence) {
  if (evidence.role != EngineRole::kRank || !evidence.rank) return;
  const std::string has_started =
      fmt::format("{} has started {} of dtlaunch, and each is one rank",
                  engine_name(evidence.engine), plural(evidence.rank->world_size, "task"));
  const auto refuse = [&](const std::string& option) {
    throw Error(Exit::kUsage, option, has_started, "the same without it");
  };
  if (line.ranks && *line.ranks != evidence.rank->world_size) {
    refuse(fmt::format("-np {}", *line.ranks));
  }
  if (line.nodes && line.nodes != evidence.node_count)
    refuse(fmt::format("--nnodes {}", *line.nodes));
  for (const auto& [given, option] :
       {std::pair(line.ranks_per_node.has_value(), "-ppn"),
        {line.rank_range || line.node_range || !line.discover.empty(), "a job of no fixed size"},
        {line.deal.has_value(), "-rr"},
        {!line.rank_map.empty(), "-rankmap"},
        {line.spares.has_value(), "--spares"},
        {line.skip_launch_host, "-skip-launch-node"}}) {
    if (given) refuse(option);
  }
}

EngineEvidence evidence_beside(const CommandLine& line, bool file_has_hosts,
                               const Surroundings& around) {
  EngineEvidence evidence = read_engine(line.engine, around);
  const std::string_view named = !line.discover.empty()   ? "--discover"
                                 : !line.hosts.empty()    ? "-hosts"
                                 : !line.hostfile.empty() ? "-hostfile"
                                 : file_has_hosts         ? "the job file"
                                                          : "";
  if (!named.empty()) {
    evidence.follows.push_back(fmt::format("{} names the hosts of the job{}", named,
                                           evidence.hosts_are_all ? ", of the allocation" : ""));
    if (!is_one_of_several(evidence)) evidence.refusal.reset();
  }
  const bool by_srun =
      evidence.role == EngineRole::kLauncher && evidence.starter == EngineStarter::kSrun;
  if (line.agent_start == AgentStart::kSsh && evidence.starter != EngineStarter::kSsh) {
    evidence.follows.push_back("-launcher ssh wins");
    evidence.starter = EngineStarter::kSsh;
  } else if (by_srun && !is_on_path("srun", around.environment)) {
    evidence.follows.push_back("there is no srun on PATH");
    evidence.starter = EngineStarter::kSsh;
  }
  if (line.ranks_per_node && evidence.ranks_per_node) {
    evidence.follows.push_back(fmt::format("-ppn {} wins", *line.ranks_per_node));
    evidence.ranks_per_node = line.ranks_per_node;
    evidence.crowded.clear();
  }
  return evidence;
}

int notice_signal_of(Engine engine) {
  return engine == Engine::kSlurm ? SIGUSR1 : 0;
}

std::string remark_on_pod(const std::string& host) {
  std::string ignored;
  if (::access(kRunningWorkers, R_OK) != 0) return {};
  const auto text = read_engine_file(kRunningWorkers, ignored);
  if (!text) return {};
  const std::vector<std::string> running = running_workers(*text);
  const bool listed = std::any_of(running.begin(), running.end(), [&](const std::string& name) {
    return same_host_name(name, host);
  });
  return fmt::format("{} {} it as running", kRunningWorkers, listed ? "lists" : "does not list");
}

std::vector<Host> hosts_of_job(const EngineEvidence& evidence, const CommandLine& line,
                               std::vector<Host> hosts, JobSettings& settings,
                               const Variables& environment) {
  settings.notices.insert(settings.notices.end(), evidence.warnings.begin(),
                          evidence.warnings.end());
  settings.engine = evidence.engine;
  settings.job.notice_signal = line.notice_signal.value_or(
      notice_signal_of(line.nodes_have_come ? line.started_by : evidence.engine));
  settings.carrier = carrier_of(evidence, line.agent_start);
  if (evidence.starter == EngineStarter::kPbsdsh && !line.agent_start) {
    settings.notes.emplace_back(
        "pbs: agents start over ssh, outside of what PBS counts and ends; pbsdsh is not used");
  }
  settings.pod_keys = evidence.pod_keys;
  if (evidence.hosts_come_late) {
    settings.hosts_patience = line.start_timeout.value_or(kHostsPatience);
  } else if (line.start_timeout && !line.nodes_have_come) {
    settings.notices.emplace_back(
        "--start-timeout is ignored: hosts that do not answer are named within 10 s");
  }
  if (evidence.hosts_are_all && evidence.role == EngineRole::kLauncher) {
    settings.allocation = evidence.hosts;
  }
  if (!evidence.refusal && wants_step(line, evidence, environment, settings.notices)) {
    refuse_what_a_step_cannot(line, evidence);
    settings.step.emplace();
    const std::size_t dot = evidence.job_id.find('.');
    settings.step->job = evidence.job_id.substr(0, dot);
    if (is_first_of_several(evidence)) settings.step->beside = evidence.job_id;
  }
  if (!hosts.empty()) {
    refuse_copies(evidence);
    return within_allocation(settings, std::move(hosts));
  }
  refuse_role(evidence);
  if (evidence.role == EngineRole::kNode) {  // the only one
    if (!line.ranks_per_node && !line.ranks) {
      settings.request.ranks_per_node = evidence.ranks_per_node;
      if (!evidence.crowded.empty()) settings.notices.push_back(evidence.crowded);
    }
    return {};
  }
  return evidence.hosts;
}

JobSettings settings_of_engine(const Surroundings& around) {
  JobSettings settings;
  const EngineEvidence evidence = read_engine(std::nullopt, around);
  if (evidence.refusal || evidence.role != EngineRole::kLauncher) return settings;
  const CommandLine nothing;
  settings.request.hosts = hosts_of_job(evidence, nothing, {}, settings, around.environment);
  plan_step(nothing, settings);
  return settings;
}

void plan_step(const CommandLine& line, JobSettings& settings) {
  if (line.start_timeout && !line.nodes_have_come && !settings.step) {
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
  std::copy_if(settings.allocation.begin(), settings.allocation.end(),
               std::back_inserter(step.nodes), wanted);
  // A step of which some wait beside may have fewer nodes than the job.
  step.whole = step.beside.empty() && step.nodes.size() == settings.allocation.size();
  settings.job.start_deadline = step.patience + 1s;
  if (!line.dry_run) return;
  std::vector<std::string> names;
  for (const Host& node : step.nodes) names.push_back(node.name);
  settings.notices.push_back(fmt::format("agents start by srun, in one step of job {}, on {}",
                                         step.job, first_names(names)));
}

std::vector<Host> within_allocation(const JobSettings& settings, std::vector<Host> hosts) {
  if (settings.allocation.empty()) return hosts;
  std::vector<std::string> strangers, own;
  for (Host& host : hosts) {
    const Host* found = find_in(settings.allocation, host.name);
    if (found == nullptr) strangers.push_back(host.name);
    host.here = found != nullptr && found->here;
  }
  if (strangers.empty()) return hosts;
  for (const Host& host : settings.allocation) own.push_back(host.name);
  throw Error(
      Exit::kUsage, fmt::format("cannot use {}", first_names(strangers)),
      fmt::format("{} has given this job {} alone", engine_name(settings.engine), first_names(own)),
      "hosts of the allocation; --engine none, where the engine allows others");
}

}  // namespace dtl
