// Pods learn their place in several ways: from torchrun's PET_* variables, an index, the pod's name
// or a hostfile. Each kind has a look function, a read function and commands here.
#include "plan/schedulers/kubernetes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile.h"
#include "plan/request/hostlist.h"
#include "plan/schedulers/own_variables.h"
#include "plan/schedulers/pod_commands.h"

namespace dtl {
namespace {

constexpr int kPyTorchPort = 23456;  // PyTorchJob's default

// The number at the end of "dtl-worker-2", or of "dtl-node-0-3".
std::optional<int> number_of_pod(const std::string& name) {
  const std::string label = first_label(name);
  const std::size_t dash = label.rfind('-');
  if (dash == label.npos) return std::nullopt;
  const auto number = parse_integer(label.substr(dash + 1), 0, kMaxNodes - 1);
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::string name_of_pod(SchedulerReader& variables, const SchedulerAnswers& answers) {
  return variables.text("HOSTNAME").value_or(answers.host_name);
}

// Whether this pod is the coordinator that the others look for. If the name does not belong to a
// pod of this group, it is a Service's, which leads to the first pod.
bool is_looked_for(const std::string& coordinator, const std::string& own) {
  if (coordinator.empty()) return false;
  const std::string label = first_label(coordinator), mine = first_label(own);
  // "dtl-worker-2" belongs to the group "dtl-worker".
  const auto family = [](const std::string& name) { return name.substr(0, name.rfind('-')); };
  if (label == mine) return true;
  const bool fellow = number_of_pod(label) && family(label) == family(mine);
  return !fellow && number_of_pod(mine) == 0;
}

// "2"; with "auto", "cpu" and "gpu" the launcher chooses the number.
void take_ranks_per_node(SchedulerReader& variables, SchedulerEvidence& evidence) {
  constexpr std::string_view kName = "PET_NPROC_PER_NODE";
  const auto text = variables.text(kName);
  if (!text) return;
  const std::string word = to_lower(*text);
  if (word == "auto" || word == "cpu" || word == "gpu") {
    evidence.follows.push_back(
        fmt::format("{}={} leaves the ranks of a node to dtlaunch", kName, *text));
    return;
  }
  evidence.ranks_per_node = variables.number(kName, 1, kMaxRanks);
}

// PyTorchJob without a Master and without a policy only gives the number of pods. Then its first
// worker is the coordinator.
void take_first_worker(SchedulerReader& variables, const SchedulerAnswers& answers,
                       SchedulerEvidence& evidence) {
  const std::string own = name_of_pod(variables, answers);
  const auto number = number_of_pod(own);
  const std::string label = first_label(own);
  const std::size_t dash = label.rfind('-');
  if (!number || !label.substr(0, dash).ends_with("-worker")) return;
  evidence.node_rank = *number;
  evidence.coordinator = label.substr(0, dash) + "-0";
  evidence.coordinator_port = kPyTorchPort;
  evidence.follows.push_back(
      fmt::format("no pod is the master: by its name this is number {}, and {} coordinates",
                  *number, evidence.coordinator));
}

void take_torchruns(SchedulerReader& variables, const SchedulerAnswers& answers,
                    SchedulerEvidence& evidence) {
  take_nodes(variables, "PET_NNODES", evidence);
  take_ranks_per_node(variables, evidence);
  evidence.max_restarts = variables.number("PET_MAX_RESTARTS", 0, INT32_MAX);
  if (variables.has("PET_RDZV_ENDPOINT")) {
    if (!evidence.elastic && !evidence.node_count) evidence.node_count = 1;  // as in torchrun
    take_endpoint(variables, "PET_RDZV_ENDPOINT", evidence);
    evidence.job_id = variables.job_id("PET_RDZV_ID");
    // Nodes of an elastic job have no numbers: pods may come and go. The pod's number is a
    // preference.
    evidence.node_hint = number_of_pod(name_of_pod(variables, answers));
    evidence.follows.push_back("nodes get their numbers from the one that coordinates");
    return;
  }
  // Throws: without a number of nodes it is unknown when all have connected.
  if (!evidence.elastic && !evidence.node_count) variables.needed("PET_NNODES");
  evidence.node_rank = variables.number("PET_NODE_RANK", 0, kMaxNodes - 1);
  take_endpoint(variables, variables.first_of({"PET_MASTER_ADDR", "MASTER_ADDR"}), evidence);
  evidence.coordinator_port =
      variables.number(variables.first_of({"PET_MASTER_PORT", "MASTER_PORT"}), 1, 65535)
          .value_or(evidence.coordinator_port);
  if (!evidence.node_rank && evidence.coordinator.empty()) {
    take_first_worker(variables, answers, evidence);
  }
  if (const auto rank = variables.text("RANK")) {
    evidence.follows.push_back(
        fmt::format("RANK={} is the number of this pod, not of a rank", printable(*rank)));
  }
}

// Without DTL_NNODES the number of nodes stays unknown: --nnodes may set it.
void take_index(SchedulerReader& variables, SchedulerEvidence& evidence) {
  if (!variables.has("DTL_RDZV")) {
    throw file_error("DTL_RDZV", "", "missing: it tells the nodes where they meet",
                     "DTL_RDZV=NAME:29500 of the first node, on all of them; or --scheduler none");
  }
  if (variables.has("DTL_NODE_RANK")) return;
  evidence.node_rank = variables.needed_number("JOB_COMPLETION_INDEX", 0, kMaxNodes - 1);
}

// TrainJob starts as many processes on a node as it has CPUs, unless numProcPerNode is set.
void warn_of_crowd(const SchedulerAnswers& answers, SchedulerEvidence& evidence) {
  if (!evidence.ranks_per_node || answers.cpus == 0) return;
  const int ranks = *evidence.ranks_per_node;
  // With at least two CPUs per rank, or one rank per NUMA node, the ranks may be intended.
  const bool one_thread = answers.cpus < 2 * ranks;
  if (!one_thread || ranks <= std::max(answers.numa_nodes, 1)) return;
  evidence.crowded =
      Error(Exit::kConfig,
            fmt::format("PET_NPROC_PER_NODE={} for {}", ranks, plural(answers.cpus, "CPU")),
            "each rank computes with one thread and has memory of its own; a TrainJob's default "
            "is a rank for each CPU",
            "-ppn 1, or numProcPerNode: 1 in the TrainJob")
          .what();
}

// The hostfile of the job's operator, named by the variable of the MPI that the job is made for.
// For other MPIs it is at the default path.
HostListFile worker_list(SchedulerReader& variables) {
  const std::string_view name = variables.first_of(
      {"I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile"});
  return variables.has(name) ? host_list_file(name, variables)
                             : HostListFile{"/etc/mpi/hostfile", ""};
}

// Whether the user set a pod's variables by hand. The kubelet sets the first of these in every pod;
// Indexed Jobs and MPIJobs set the others.
bool is_outside_kubernetes(const SchedulerReader& variables) {
  return !variables.has("KUBERNETES_SERVICE_HOST") && !variables.has("JOB_COMPLETION_INDEX") &&
         !variables.has("K_MPI_JOB_ROLE");
}

void ask_mpi_launcher(const Sighting& /*seen*/, SchedulerReader& variables,
                      SchedulerQuestions& questions) {
  if (variables.text("K_MPI_JOB_ROLE") == "worker") return;
  HostListFile file = worker_list(variables);
  questions.file = std::move(file.path);
  questions.named_by = std::move(file.named_by);
  questions.running = kRunningWorkers;
  questions.pod_keys = true;
}

SchedulerEvidence read_mpi_launcher(const Sighting& /*seen*/, SchedulerReader& variables,
                                    const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  if (const auto role = variables.text("K_MPI_JOB_ROLE")) {
    if (*role == "worker") {
      evidence.role = SchedulerRole::kNode;
      // sshd should run here instead: the launcher's agents arrive over ssh.
      evidence.refusal = {"this is a worker of an MPIJob", "its launcher starts what runs here",
                          "dtlaunch as the launcher's command, and sshd as that of the workers"};
      return evidence;
    }
    if (*role != "launcher") {
      throw variables.bad("K_MPI_JOB_ROLE", "it is neither launcher nor worker");
    }
  }
  const HostListFile file = worker_list(variables);
  evidence.hosts = parse_hostfile(text_of(file, answers), file.path);
  evidence.follows.push_back("the hosts are those of " + file.path);
  evidence.outside_kubernetes = is_outside_kubernetes(variables);
  // The operator may start the launcher before its workers.
  evidence.hosts_come_late = true;
  evidence.pod_keys = answers.pod_keys;
  evidence.follows.push_back(
      answers.pod_keys.empty()
          ? "no key of the job's pods is mounted: ssh as everywhere else"
          : fmt::format("ssh by the key of {}, which every pod shows as its own",
                        printable(answers.pod_keys)));
  if (answers.running) {
    const std::size_t running = running_workers(*answers.running).size();
    evidence.follows.push_back(
        fmt::format("discover_hosts.sh says that {} of {} run", running,
                    plural(static_cast<std::int64_t>(evidence.hosts.size()), "host")));
  }
  return evidence;
}

// For the kinds whose pods each run a dtlaunch. The user's own variables are read last, so that
// they win, and dependent values after them.
void settle_pod(SchedulerReader& variables, const SchedulerAnswers& answers,
                SchedulerEvidence& evidence) {
  evidence.role = SchedulerRole::kNode;
  evidence.outside_kubernetes = is_outside_kubernetes(variables);
  take_own_variables(variables, evidence);
  evidence.is_coordinator =
      evidence.node_rank ? *evidence.node_rank == 0
                         : is_looked_for(evidence.coordinator, name_of_pod(variables, answers));
  check_node_rank(variables, evidence,
                  {"DTL_NODE_RANK", "PET_NODE_RANK", "JOB_COMPLETION_INDEX", "HOSTNAME"});
}

SchedulerEvidence read_torchrun_pod(const Sighting& /*seen*/, SchedulerReader& variables,
                                    const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  take_torchruns(variables, answers, evidence);
  settle_pod(variables, answers, evidence);
  return evidence;
}

// TrainJob has two kinds of pods: torchrun's, and launchers with a hostfile. The variable found
// shows which.
bool is_torchrun_pod(const Sighting& seen) {
  return seen.variable.starts_with("PET_");
}

void ask_train_job(const Sighting& seen, SchedulerReader& variables,
                   SchedulerQuestions& questions) {
  if (!is_torchrun_pod(seen)) ask_mpi_launcher(seen, variables, questions);
}

SchedulerEvidence read_train_job(const Sighting& seen, SchedulerReader& variables,
                                 const SchedulerAnswers& answers) {
  if (!is_torchrun_pod(seen)) return read_mpi_launcher(seen, variables, answers);
  SchedulerEvidence evidence = read_torchrun_pod(seen, variables, answers);
  variables.text("JOB_COMPLETION_INDEX");  // distinguishes it from a PyTorchJob
  warn_of_crowd(answers, evidence);
  return evidence;
}

SchedulerEvidence read_indexed_job(const Sighting& /*seen*/, SchedulerReader& variables,
                                   const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  take_index(variables, evidence);
  settle_pod(variables, answers, evidence);
  return evidence;
}

// ---- recognising each kind

std::vector<Sighting> look_for_mpi_job(const SchedulerReader& variables, bool /*asked*/) {
  return sightings_of(variables, {"K_MPI_JOB_ROLE"});
}

// torchrun's own variables, which PyTorchJob and TrainJob both set. PET_NNODES alone is weak:
// people export it for torchrun.
void look_for_torchruns(const SchedulerReader& variables, std::vector<Sighting>& seen) {
  if (variables.has("PET_RDZV_ENDPOINT")) seen.push_back({"PET_RDZV_ENDPOINT"});
  if (!variables.has("PET_NNODES")) return;
  if (variables.has("PET_NODE_RANK")) seen.push_back({"PET_NNODES"});
  seen.push_back({"PET_NNODES", true});
}

// TrainJob's pods belong to Indexed Jobs, PyTorchJob's do not.
bool has_index(const SchedulerReader& variables) {
  return variables.has("JOB_COMPLETION_INDEX");
}

std::vector<Sighting> look_for_train_job(const SchedulerReader& variables, bool asked) {
  std::vector<Sighting> seen;
  constexpr const char* kHostfile = "OMPI_MCA_orte_default_hostfile";
  // Weak: people export it for Open MPI.
  if (variables.has(kHostfile)) seen.push_back({kHostfile, true});
  if (asked || has_index(variables)) look_for_torchruns(variables, seen);
  return seen;
}

std::vector<Sighting> look_for_pytorch_job(const SchedulerReader& variables, bool asked) {
  std::vector<Sighting> seen;
  if (asked || !has_index(variables)) look_for_torchruns(variables, seen);
  return seen;
}

std::vector<Sighting> look_for_indexed_job(const SchedulerReader& variables, bool /*asked*/) {
  std::vector<Sighting> seen = sightings_of(variables, {"JOB_COMPLETION_INDEX"});
  const bool told = variables.has("DTL_NNODES") || variables.has("DTL_RDZV");
  // Pods of another kind, whose manifest sets our own variables.
  if (told && variables.has("DTL_NODE_RANK")) seen.push_back({"DTL_NODE_RANK"});
  return seen;
}

// A pod's index alone does not prove a common job: each pod may be meant to compute separately.
std::string_view decline_bare_index(const SchedulerReader& variables) {
  if (variables.has("DTL_NNODES") || variables.has("DTL_RDZV")) return {};
  return "JOB_COMPLETION_INDEX says that this is a pod of an Indexed Job, and DTL_NNODES and "
         "DTL_RDZV are not there: it runs a job of its own";
}

constexpr std::string_view kPodTaskVariables[] = {"JOB_COMPLETION_INDEX", "K_MPI_JOB_ROLE"};

}  // namespace

constexpr Scheduler kMpiJob = {
    .name = "mpijob",
    .title = "MPIJob",
    .pods = true,
    .token_hint = kPodTokenHint,
    .task_variables = kPodTaskVariables,
    .look = look_for_mpi_job,
    .ask = ask_mpi_launcher,
    .read = read_mpi_launcher,
    .commands = worker_commands,
};
constexpr Scheduler kTrainJob = {
    .name = "trainjob",
    .title = "TrainJob",
    .pods = true,
    .recreates_nodes = true,
    .token_hint = kPodTokenHint,
    .look = look_for_train_job,
    .ask = ask_train_job,
    .read = read_train_job,
    .commands = pod_commands,
};
constexpr Scheduler kPyTorchJob = {
    .name = "pytorchjob",
    .title = "PyTorchJob",
    .pods = true,
    .recreates_nodes = true,
    .token_hint = kPodTokenHint,
    .look = look_for_pytorch_job,
    .read = read_torchrun_pod,
    .commands = pod_commands,
};
constexpr Scheduler kIndexedJob = {
    .name = "indexed-job",
    .title = "Indexed Job",
    .alias = "jobset",  // its pods belong to Indexed Jobs
    .pods = true,
    .recreates_nodes = true,
    .token_hint = kPodTokenHint,
    .look = look_for_indexed_job,
    .declines = decline_bare_index,
    .read = read_indexed_job,
    .commands = pod_commands,
};

std::vector<std::string> running_workers(const std::string& text) {
  constexpr std::string_view kEcho = "echo ";
  std::vector<std::string> names;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string_view rest = trim(line);
    if (!rest.starts_with(kEcho)) continue;  // "#!/bin/sh"
    const TextPosition start{fmt::format("discover_hosts.sh:{}:", number)};
    const HostToken token =
        parse_host_token(trim(rest.substr(kEcho.size())), start.at(kEcho.size()));
    names.insert(names.end(), token.names.begin(), token.names.end());
  }
  return names;
}

}  // namespace dtl
