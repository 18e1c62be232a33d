// Slurm sets variables of the job and of the step side by side, with different numbers under
// similar names. A process is one of three: a batch script or salloc's shell, a step with one task,
// or a task of a step with several. own_step() distinguishes them.
#include "plan/schedulers/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <numeric>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostlist.h"
#include "plan/schedulers/own_variables.h"
#include "plan/schedulers/slurm_hostlist.h"

namespace dtl {
namespace {

constexpr StarterWord kSrunWords[] = {{"srun"}};
constexpr std::string_view kSrunPrograms[] = {"srun"};
constexpr Starter kSrun = {
    .way = Starter::Way::kStep,
    .words = kSrunWords,
    .programs = kSrunPrograms,
    .summary = "srun: one step for all hosts, from which agents come back",
    .elsewhere = "this is not a job of Slurm that has hosts",
    .elsewhere_hint = "salloc -N 2 dtlaunch ..., or dtlaunch --show-scheduler",
};

// Slurm's numbers for steps that no user's srun created.
constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;  // from here on: batch, extern, interactive
constexpr std::int64_t kMostTasks = 1 << 24;            // of a step; more than Slurm starts

// The step that this process is a task of, as srun describes it.
struct Step {
  std::int64_t id = 0;
  int tasks = 0;
};

// This process's step if srun created it; nullopt in a batch script and in salloc's interactive
// shell, which Slurm also counts as steps.
std::optional<Step> own_step(SchedulerReader& variables) {
  const std::string_view name = variables.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
  const auto text = variables.text(name);
  if (!text) return std::nullopt;
  const auto id = parse_integer(*text, 0, UINT32_MAX);
  if (!id) throw variables.bad(name, "not the number of a step");
  if (*id >= kFirstSpecialStep) return std::nullopt;
  const auto tasks = variables.number("SLURM_STEP_NUM_TASKS", 1, kMostTasks);
  return Step{*id, tasks.value_or(1)};
}

std::vector<std::string> names_of(SchedulerReader& variables, std::string_view list,
                                  const std::optional<std::string>& expanded) {
  const std::string text = variables.needed(list);
  std::vector<std::string> names = expand_slurm_hostlist(text, variables.position(list));
  if (expanded && has_several_brackets(text)) {
    std::vector<std::string> asked = split(trim(*expanded), '\n');
    // The same hosts in Slurm's own order; anything else is not a valid answer.
    if (std::is_permutation(asked.begin(), asked.end(), names.begin(), names.end())) {
      names = std::move(asked);
    }
  }
  // A repeated host would make the task counts ambiguous.
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    check_host_name(name, variables.position(list));
    if (seen.insert(name).second) continue;
    throw variables.bad(list, fmt::format("it names {} twice", name));
  }
  return names;
}

void check_count(const SchedulerReader& variables, std::string_view list, std::size_t names,
                 std::string_view count_name, std::optional<int> count) {
  if (!count || static_cast<std::size_t>(*count) == names) return;
  throw variables.bad(
      list, fmt::format("it names {}, and {} says {}",
                        plural(static_cast<std::int64_t>(names), "host"), count_name, *count));
}

std::vector<Host> hosts_of(const std::vector<std::string>& names, std::string_view where) {
  std::vector<Host> hosts(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    hosts[i].name = names[i];
    hosts[i].where = where;
  }
  return hosts;
}

// One number for each host, in the order of the list of hosts.
std::vector<int> counts_of(SchedulerReader& variables, std::string_view name, std::size_t hosts) {
  return expand_slurm_counts(variables.needed(name), hosts, variables.position(name));
}

// A step's hosts get the CPUs that the job has there. The step may have fewer nodes than the job,
// so they are matched by name.
void take_cpus(SchedulerReader& variables, const SchedulerAnswers& answers,
               SchedulerEvidence& evidence) {
  const std::string_view list = variables.first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (!variables.has(list) || !variables.has("SLURM_JOB_CPUS_PER_NODE")) return;
  const auto names = names_of(variables, list, answers.tool);
  const auto cpus = counts_of(variables, "SLURM_JOB_CPUS_PER_NODE", names.size());
  for (Host& host : evidence.hosts) {
    const auto at = std::find(names.begin(), names.end(), host.name) - names.begin();
    if (at < std::ssize(names)) host.max_slots = cpus[static_cast<std::size_t>(at)];
  }
}

// Without a token the nodes cannot authenticate each other. Then the first one starts agents on all
// nodes with another step, which passes each node a token; the others wait for its end.
void take_node(SchedulerReader& variables, const SchedulerAnswers& answers,
               SchedulerEvidence& evidence) {
  const int node = *evidence.node_rank;
  const std::string nodes = plural(*evidence.node_count, "node");
  if (answers.has_token) {
    evidence.follows.push_back(
        fmt::format("srun has started one dtlaunch on each of {}; this is number {}", nodes, node));
    return;
  }
  evidence.starter = &kSrun;
  if (node > 0) {
    evidence.follows.push_back(
        fmt::format("srun has started one dtlaunch on each of {}; this is number {}, and waits for "
                    "number 0, which starts the job in a step beside this one",
                    nodes, node));
    return;
  }
  evidence.role = SchedulerRole::kLauncher;
  // In order of node rank, so the first is this one.
  evidence.hosts[0].here = true;
  // As the launcher it starts the others itself; no node connects to it.
  evidence.coordinator.clear();
  take_cpus(variables, answers, evidence);
  evidence.follows.push_back(fmt::format(
      "srun has started one dtlaunch on each of {}; this is number 0, and starts the job "
      "in a step beside this one",
      nodes));
}

// A task of a step with several: srun started a node or a rank. All numbers are checked against
// each other, since a wrong one would make nodes wait for tasks that never come.
void take_step(SchedulerReader& variables, const SchedulerAnswers& answers, const Step& step,
               SchedulerEvidence& evidence) {
  const auto names = names_of(variables, "SLURM_STEP_NODELIST", std::nullopt);
  check_count(variables, "SLURM_STEP_NODELIST", names.size(), "SLURM_STEP_NUM_NODES",
              variables.number("SLURM_STEP_NUM_NODES", 1, kMaxHosts));
  const auto counts = counts_of(variables, "SLURM_STEP_TASKS_PER_NODE", names.size());
  const auto tasks = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (tasks != step.tasks) {
    throw variables.bad(
        "SLURM_STEP_TASKS_PER_NODE",
        fmt::format("these are {} tasks, and SLURM_STEP_NUM_TASKS says {}", tasks, step.tasks));
  }
  // Two steps of one job may run at the same time: the step's number makes them two jobs for us.
  evidence.step_of = evidence.job_id;
  evidence.job_id += fmt::format(".{}", step.id);
  evidence.hosts_are_all = true;
  const int nodes = static_cast<int>(names.size());
  const int node = variables.needed_number("SLURM_NODEID", 0, nodes - 1);
  evidence.node_count = nodes;
  evidence.node_rank = node;
  evidence.coordinator = names[0];
  take_meeting_point(variables, evidence);
  // One task per node: a node's dtlaunch. Otherwise each task is a rank.
  if (tasks == nodes) {
    evidence.role = SchedulerRole::kNode;
    evidence.hosts = hosts_of(names, "SLURM_STEP_NODELIST");
    evidence.is_coordinator = node == 0;
    take_node(variables, answers, evidence);
    return;
  }
  evidence.role = SchedulerRole::kRank;
  const int of_node = counts[static_cast<std::size_t>(node)];
  evidence.rank =
      SchedulerRank{variables.needed_number("SLURM_PROCID", 0, step.tasks - 1),
                    variables.needed_number("SLURM_LOCALID", 0, of_node - 1), step.tasks};
  evidence.is_coordinator = evidence.rank->rank == 0;
  evidence.follows.push_back(fmt::format("srun has started {}; this is rank {}",
                                         plural(step.tasks, "rank"), evidence.rank->rank));
}

// Slots for each host. Without a number of tasks, SLURM_TASKS_PER_NODE counts CPUs. In a task that
// srun started, these variables describe its step, so they say nothing about the job.
void take_slots(SchedulerReader& variables, bool in_step, SchedulerEvidence& evidence) {
  std::vector<Host>& hosts = evidence.hosts;
  const std::string_view ntasks = variables.first_of({"SLURM_NTASKS", "SLURM_NPROCS"});
  if (!in_step && variables.text(ntasks)) {
    const auto slots = counts_of(variables, "SLURM_TASKS_PER_NODE", hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].slots = slots[i];
    evidence.follows.push_back(fmt::format("slots are Slurm's tasks, for {} is there", ntasks));
    return;
  }
  if (!variables.has("SLURM_JOB_CPUS_PER_NODE")) return;
  const auto cpus = counts_of(variables, "SLURM_JOB_CPUS_PER_NODE", hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].max_slots = cpus[i];
  evidence.follows.push_back(
      fmt::format("{}: each host has as many ranks as physical cores, and at most as many as "
                  "Slurm has given it CPUs",
                  in_step ? "the task numbers of a step say nothing of the job"
                          : "no number of tasks was asked for"));
}

void take_allocation(SchedulerReader& variables, const SchedulerAnswers& answers, bool in_step,
                     SchedulerEvidence& evidence) {
  const std::string_view list = variables.first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const std::string_view count = variables.first_of({"SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
  const auto names = names_of(variables, list, answers.tool);
  check_count(variables, list, names.size(), count, variables.number(count, 1, kMaxHosts));
  evidence.role = SchedulerRole::kLauncher;
  evidence.starter = &kSrun;
  evidence.hosts = hosts_of(names, list);
  evidence.hosts_are_all = true;
  if (const auto task = variables.text("SLURM_ARRAY_TASK_ID")) {
    evidence.follows.push_back("a task of an array of jobs, each with hosts of its own");
  }
  take_slots(variables, in_step, evidence);
  // Slurm's own name of this host; it may differ from the hostname. Absent on a login host.
  if (const auto own = variables.text("SLURMD_NODENAME")) {
    for (Host& host : evidence.hosts) host.here = host.name == *own;
  }
}

SchedulerEvidence read_slurm(const Sighting& /*seen*/, SchedulerReader& variables,
                             const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  const std::string_view id = variables.first_of({"SLURM_JOB_ID", "SLURM_JOBID"});
  if (!parse_integer(variables.needed(id), 1, UINT32_MAX)) {
    throw variables.bad(id, "not the number of a job");
  }
  evidence.job_id = variables.needed(id);
  evidence.restart = variables.number("SLURM_RESTART_COUNT", 0, INT32_MAX).value_or(0);
  const std::string_view parts = variables.first_of({"SLURM_PACK_SIZE", "SLURM_HET_SIZE"});
  // Slurm before 20.02 calls such a job a pack.
  if (variables.number(parts, 0, INT32_MAX).value_or(1) > 1) {
    evidence.refusal = {fmt::format("{} says that this is a heterogeneous job", parts),
                        "its parts have variables and steps of their own, and dtlaunch reads one",
                        "a job of one part: sbatch and salloc without ':' in their options"};
    evidence.follows.push_back("a heterogeneous job: of several parts, which are not read");
    return evidence;
  }
  const auto step = own_step(variables);
  if (step && step->tasks > 1) {
    take_step(variables, answers, *step, evidence);
  } else {
    take_allocation(variables, answers, step.has_value(), evidence);
  }
  return evidence;
}

std::vector<Sighting> look_for_slurm(const SchedulerReader& variables, bool /*asked*/) {
  return sightings_of(variables, {variables.first_of({"SLURM_JOB_ID", "SLURM_JOBID"})});
}

// For such names, asks scontrol for the order, since it belongs to the running Slurm.
void ask_scontrol(const Sighting& /*seen*/, SchedulerReader& variables,
                  SchedulerQuestions& questions) {
  const auto list = variables.text(variables.first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
  if (!list || !has_several_brackets(*list)) return;
  questions.tool = {"scontrol", "exec scontrol show hostnames \"$0\"", *list};
}

constexpr HostCommands kSlurmCommands = {
    .state = "scontrol show node {0}",
    .kills = "sacct -j {1}",
    .ends = "scancel {1}",
    .runs = "srun --overlap -N 1 -n 1 -w {0} sh -c {2}",
};

constexpr std::string_view kSlurmTaskVariables[] = {
    "SLURM_PROCID",     "SLURM_LOCALID",   "SLURM_NODEID",   "SLURM_STEP*",    "SLURM_NTASKS*",
    "SLURM_NPROCS",     "SLURM_TASK*",     "SLURM_GTIDS",    "SLURM_SRUN_*",   "SLURM_CPU_BIND*",
    "SLURM_MEM_BIND*",  "SLURM_PMI*",      "SLURM_MPI_TYPE", "SLURM_LAUNCH_*", "SLURM_UMASK",
    "SLURM_EXPORT_ENV", "SLURMD_NODENAME", "SRUN_*"};

}  // namespace

constexpr Scheduler kSlurm = {
    .name = "slurm",
    .title = "Slurm",
    .task_command = "srun",
    .notice_signal = SIGUSR1,  // sbatch --signal=B:USR1@60
    .token_hint =
        "export DTL_TOKEN=$(openssl rand -hex 32), before srun; or DTL_TOKEN_FILE, of a "
        "file that all hosts see",
    .task_variables = kSlurmTaskVariables,
    .starter = &kSrun,
    .look = look_for_slurm,
    .ask = ask_scontrol,
    .read = read_slurm,
    .commands = [](const SchedulerEvidence&) -> const HostCommands& { return kSlurmCommands; },
};

}  // namespace dtl
