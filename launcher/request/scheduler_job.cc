// Hosts that the user names override the allocation, but must be part of it if the scheduler
// refuses others.
#include "launcher/request/scheduler_job.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/machine/cgroup.h"
#include "base/text.h"
#include "launcher/request/job_step.h"
#include "launcher/request/pod_keys.h"
#include "launcher/schedulers/step_starters.h"
#include "plan/request/host_token.h"
#include "plan/request/name_list.h"
#include "plan/schedulers/kubernetes.h"

namespace dtl {
namespace {

// The CPUs that this process may use, limited by its cgroup's quota: a pod's limit is more often a
// quota than a set of CPUs. 0: unknown.
int usable_cpus() {
  // Larger than the fixed cpu_set_t of 1,024 CPUs: the call fails where the kernel has more.
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

// These files belong to the scheduler, and not always to this user or root, so read_trusted_file()
// would refuse them.
std::optional<std::string> read_scheduler_file(const std::string& path, std::string& problem) {
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

// Whether the scheduler has started several dtlaunch. If the user names hosts, each would start the
// whole job.
bool is_one_of_several(const SchedulerEvidence& evidence) {
  return evidence.role != SchedulerRole::kLauncher && !evidence.scheduler->task_command.empty();
}

void refuse_copies(const SchedulerEvidence& evidence) {
  if (!is_one_of_several(evidence)) return;
  throw option_error(
      std::string(evidence.scheduler->name),
      "it has started several of dtlaunch, and with hosts named each would start the whole job",
      fmt::format("dtlaunch once, without {}", evidence.scheduler->task_command));
}

// --nnodes gives the number of nodes if the scheduler leaves it open.
bool is_one_node(const SchedulerEvidence& evidence, const CommandLine& line) {
  return evidence.node_count.value_or(line.placement.nodes.value_or(0)) == 1 &&
         evidence.node_rank.value_or(0) == 0;
}

// Nodes connect before the job is described (launcher/gather/node_role.h), and their names are then
// the job's hosts.
void refuse_role(const SchedulerEvidence& evidence, const CommandLine& line) {
  if (evidence.refusal) {
    throw option_error(evidence.refusal->attempted, evidence.refusal->reason,
                       evidence.refusal->hint);
  }
  if (evidence.role == SchedulerRole::kLauncher) return;
  if (evidence.role == SchedulerRole::kNode && is_one_node(evidence, line)) return;
  throw option_error(std::string(scheduler_name(evidence.scheduler)),
                     "this is one of several nodes, and the first of them describes the job",
                     "dtlaunch --show-scheduler, or --scheduler none for a job on this machine");
}

// The carrier and its arguments, which forwards our agents' input and output; empty: none.
std::vector<std::string> carrier_of(const SchedulerEvidence& evidence,
                                    const std::optional<AgentStart>& how) {
  const Starter* const starter = how ? how->starter : evidence.starter;
  if (starter == nullptr || starter->way != Starter::Way::kCarried) return {};
  std::string program(starter->programs[0]);
  // The scheduler's own folder is safer than PATH. A starter that the user chose is found on PATH.
  if (starter == evidence.starter && evidence.starter_folder.starts_with('/')) {
    program = evidence.starter_folder + "/" + program;
  }
  std::vector<std::string> words = {std::move(program)};
  words.insert(words.end(), starter->arguments.begin(), starter->arguments.end());
  return words;
}

// As the scheduler has it if it starts our agents on the hosts, or if these are its pods.
HostAccess access_of(SchedulerEvidence evidence, const CommandLine& line,
                     const JobSettings& settings) {
  const bool by_scheduler = settings.step || !settings.carrier.empty() || evidence.hosts_come_late;
  if (settings.step) evidence.starter_path = settings.step->program;
  const bool by_fork = line.starting.agent_start && line.starting.agent_start->is_fork();
  return by_scheduler && !by_fork ? host_access(evidence) : HostAccess{};
}

// Sorts out hosts that the user names if tasks are only for the allocation: on others agents start
// in another way, or are refused.
void sort_out_hosts(const StepPlan& step, std::vector<Host>& hosts,
                    std::vector<std::string>& notices) {
  const std::string program = step.program.substr(step.program.rfind('/') + 1);
  std::vector<std::string> strangers;
  for (Host& host : hosts) {
    if (is_loopback_name(host.name)) continue;
    // A task is started by the node's name only, without a user or a port.
    const Host* found = find_in(step.nodes, host.name);
    const bool plain = host.user.empty() && host.port == 0;
    if (!plain && step.only) {
      throw option_error(
          host.name,
          fmt::format("it has a {}, and {} does not take one", host.user.empty() ? "port" : "user",
                      program),
          fmt::format("-hosts {}, or -launcher ssh where PBS allows that", host.name));
    }
    if (found == nullptr || !plain) {
      strangers.push_back(host.name);
    } else {
      host.here = found->here;
    }
  }
  if (strangers.empty() || step.only) return;
  notices.push_back(fmt::format(
      "agents start over ssh on {}, outside of what PBS counts and ends: {} takes hosts of the "
      "allocation, without a user or a port",
      first_names(strangers), program));
}

// True if agents start over ssh there, unlike the job's other agents.
bool is_strange_to_step(const JobSettings& settings, const Host& host) {
  if (!settings.step || settings.step->only || host.here) return false;
  return !host.user.empty() || host.port != 0 || !find_in(settings.step->nodes, host.name);
}

}  // namespace

SchedulerEvidence read_scheduler(std::optional<const Scheduler*> wanted,
                                 const Surroundings& around) {
  const SchedulerQuestions questions = scheduler_questions(around.environment, wanted);
  SchedulerAnswers answers;
  answers.host_name = own_host_name();
  answers.cpus = usable_cpus();
  answers.numa_nodes = numa_nodes();
  answers.has_token = around.has_token;
  if (!questions.file.empty()) {
    answers.file = read_scheduler_file(questions.file, answers.file_problem);
  }
  if (questions.pod_keys) answers.pod_keys = find_pod_keys(around.environment);
  if (!questions.running.empty() && ::access(questions.running.c_str(), R_OK) == 0) {
    std::string ignored;
    answers.running = read_scheduler_file(questions.running, ignored);
  }
  if (questions.tool && around.ask_tool) answers.tool = around.ask_tool(*questions.tool);
  return find_scheduler(around.environment, wanted, answers);
}

void check_tasks(const CommandLine& line, const SchedulerEvidence& evidence) {
  if (evidence.role != SchedulerRole::kRank || !evidence.rank) return;
  const std::string has_started =
      fmt::format("{} has started {} of dtlaunch, and each is one rank",
                  scheduler_name(evidence.scheduler), plural(evidence.rank->world_size, "task"));
  const auto refuse = [&](const std::string& option) {
    throw option_error(option, has_started, "the same command without it");
  };
  if (line.placement.ranks && *line.placement.ranks != evidence.rank->world_size) {
    refuse(fmt::format("-np {}", *line.placement.ranks));
  }
  if (line.placement.nodes && line.placement.nodes != evidence.node_count)
    refuse(fmt::format("--nnodes {}", *line.placement.nodes));
  for (const auto& [given, option] : {std::pair(line.placement.ranks_per_node.has_value(), "-ppn"),
                                      {line.placement.rank_range.has_value(), "-np"},
                                      {line.placement.node_range.has_value(), "--nnodes"},
                                      {!line.discover.empty(), "--discover"},
                                      {line.placement.deal.has_value(), "-rr"},
                                      {!line.placement.rank_map.empty(), "-rankmap"},
                                      {line.restarts.spares.has_value(), "--spares"},
                                      {line.placement.skip_launch_host, "-skip-launch-node"}}) {
    if (given) refuse(option);
  }
}

SchedulerEvidence evidence_beside(const JobInputs& inputs, const Variables& environment) {
  const CommandLine& line = inputs.line;
  const bool file_has_hosts = inputs.file && !inputs.file->hosts.empty();
  SchedulerEvidence evidence = inputs.evidence;
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
  if (line.starting.agent_start && line.starting.agent_start->is_ssh() &&
      evidence.starter != nullptr) {
    // The user wants ssh although the scheduler has its own starter.
    evidence.follows.push_back("-launcher ssh wins");
    evidence.starter = nullptr;
  } else if (evidence.role == SchedulerRole::kLauncher) {
    find_starter(line.starting.agent_start, environment, evidence);
  }
  if (line.placement.ranks_per_node && evidence.ranks_per_node) {
    evidence.follows.push_back(fmt::format("-ppn {} wins", *line.placement.ranks_per_node));
    evidence.ranks_per_node = line.placement.ranks_per_node;
    evidence.crowded.clear();
  }
  return evidence;
}

std::string remark_on_pod(const std::string& host) {
  std::string ignored;
  if (::access(kRunningWorkers, R_OK) != 0) return {};
  const auto text = read_scheduler_file(kRunningWorkers, ignored);
  if (!text) return {};
  const std::vector<std::string> running = running_workers(*text);
  const bool listed = std::any_of(running.begin(), running.end(), [&](const std::string& name) {
    return same_host_name(name, host);
  });
  return fmt::format("{} {} it as running", kRunningWorkers, listed ? "lists" : "does not list");
}

std::vector<Host> hosts_of_job(const JobInputs& inputs, std::vector<Host> hosts,
                               JobSettings& settings, const Variables& environment) {
  const CommandLine& line = inputs.line;
  const SchedulerEvidence& evidence = inputs.evidence;
  settings.notices.insert(settings.notices.end(), evidence.warnings.begin(),
                          evidence.warnings.end());
  settings.scheduler = evidence.scheduler;
  const Scheduler* const started_by = inputs.nodes ? inputs.nodes->started_by : evidence.scheduler;
  std::optional<int>& notice_signal = settings.request.ending.notice_signal;
  if (!notice_signal && started_by != nullptr) notice_signal = started_by->notice_signal;
  settings.carrier = carrier_of(evidence, line.starting.agent_start);
  settings.pod_keys = evidence.pod_keys;
  if (evidence.hosts_come_late) {
    settings.hosts_patience = line.starting.timeout.value_or(kHostsPatience);
  }
  if (evidence.hosts_are_all && evidence.role == SchedulerRole::kLauncher) {
    settings.allocation = evidence.hosts;
  }
  // Before the hosts: the step decides whether they are refused or reached in another way.
  settings.step = wanted_step(line, evidence, environment, settings.notices);
  if (settings.step && settings.step->only) settings.allocation = evidence.hosts;
  settings.access = access_of(evidence, line, settings);
  if (!hosts.empty()) {
    refuse_copies(evidence);
    if (settings.step && !settings.step->is_one_step()) {
      sort_out_hosts(*settings.step, hosts, settings.notices);
    }
    return within_allocation(settings, std::move(hosts));
  }
  refuse_role(evidence, line);
  if (evidence.role == SchedulerRole::kNode) {  // the only one
    settings.request.here = host_access(evidence);
    settings.request.here.name = own_host_name();
    if (!line.placement.ranks_per_node && !line.placement.ranks) {
      settings.request.placement.ranks_per_node = evidence.ranks_per_node;
      if (!evidence.crowded.empty()) settings.notices.push_back(evidence.crowded);
    }
    return {};
  }
  return within_allocation(settings, evidence.hosts);
}

JobSettings settings_of_scheduler(const Surroundings& around) {
  JobSettings settings;
  JobInputs inputs;
  inputs.evidence = read_scheduler(std::nullopt, around);
  if (inputs.evidence.refusal || inputs.evidence.role != SchedulerRole::kLauncher) return settings;
  settings.request.hosts = hosts_of_job(inputs, {}, settings, around.environment);
  plan_step(inputs, settings);
  return settings;
}

std::vector<Host> within_allocation(const JobSettings& settings, std::vector<Host> hosts) {
  for (Host& host : hosts) {
    if (!is_strange_to_step(settings, host)) host.access = settings.access;
  }
  if (settings.allocation.empty()) return hosts;
  std::vector<std::string> strangers, own;
  for (Host& host : hosts) {
    const Host* found = find_in(settings.allocation, host.name);
    if (found == nullptr) strangers.push_back(host.name);
    host.here = found != nullptr && found->here;
    if (found != nullptr) host.access.name = found->name;
  }
  if (strangers.empty()) return hosts;
  for (const Host& host : settings.allocation) own.push_back(host.name);
  throw option_error(
      first_names(strangers),
      fmt::format("not in the allocation: {} has given this job {}",
                  scheduler_name(settings.scheduler), first_names(own)),
      "-hosts with hosts of the allocation, or --scheduler none where the scheduler allows others");
}

}  // namespace dtl
