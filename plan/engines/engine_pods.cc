#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/limits.h"
#include "base/text.h"
#include "plan/engines/engine_parts.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile.h"
#include "plan/request/hostlist.h"

namespace dtl {
namespace {

constexpr int kMaxNodes = static_cast<int>(kMaxHosts);
constexpr int kPyTorchPort = 23456;  // PyTorchJob's, unless its port is named
// Where steps and jobs that may share a host meet; below the ports that Linux gives to callers.
constexpr int kFirstPort = 29500;
constexpr unsigned kPorts = 500;

// The number at the end of "dtl-worker-2", or of "dtl-node-0-3".
std::optional<int> number_of_pod(const std::string& name) {
  const std::string label = first_label(name);
  const std::size_t dash = label.rfind('-');
  if (dash == label.npos) return std::nullopt;
  const auto number = parse_integer(label.substr(dash + 1), 0, kMaxNodes - 1);
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

std::string name_of_pod(EngineReader& variables, const EngineAnswers& answers) {
  return variables.text("HOSTNAME").value_or(answers.host_name);
}

// Whether this pod is the one that the others look for. A name that no fellow of this pod has is
// that of a Service, which leads to the first of them.
bool is_looked_for(const std::string& coordinator, const std::string& own) {
  if (coordinator.empty()) return false;
  const std::string label = first_label(coordinator), mine = first_label(own);
  const auto family = [](const std::string& name) { return name.substr(0, name.rfind('-')); };
  if (label == mine) return true;
  const bool fellow = number_of_pod(label) && family(label) == family(mine);
  return !fellow && number_of_pod(mine) == 0;
}

void take_nodes(EngineReader& variables, std::string_view name, EngineEvidence& evidence) {
  const auto range = variables.range(name, kMaxNodes);
  if (!range) return;
  evidence.node_count.reset();
  evidence.elastic.reset();
  if (range->least == range->most) {
    evidence.node_count = range->least;
  } else {
    evidence.elastic = range;
  }
}

void take_endpoint(EngineReader& variables, std::string_view name, EngineEvidence& evidence) {
  const auto endpoint = variables.endpoint(name);
  if (!endpoint) return;
  evidence.coordinator = endpoint->first;
  evidence.coordinator_port = endpoint->second;
}

// "2"; "auto", "cpu" and "gpu" leave the number to the launcher.
void take_ranks_per_node(EngineReader& variables, EngineEvidence& evidence) {
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

// PyTorchJob without a Master and without a policy says how many pods there are, and no more; the
// first worker is then where the others look.
void take_first_worker(EngineReader& variables, const EngineAnswers& answers,
                       EngineEvidence& evidence) {
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

void take_torchruns(EngineReader& variables, const EngineAnswers& answers,
                    EngineEvidence& evidence) {
  take_nodes(variables, "PET_NNODES", evidence);
  take_ranks_per_node(variables, evidence);
  evidence.max_restarts = variables.number("PET_MAX_RESTARTS", 0, INT32_MAX);
  if (variables.has("PET_RDZV_ENDPOINT")) {
    if (!evidence.elastic && !evidence.node_count) evidence.node_count = 1;  // as torchrun has it
    take_endpoint(variables, "PET_RDZV_ENDPOINT", evidence);
    evidence.job_id = variables.job_id("PET_RDZV_ID");
    evidence.node_hint = number_of_pod(name_of_pod(variables, answers));
    evidence.follows.push_back("nodes get their numbers from the one that coordinates");
    return;
  }
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
        fmt::format("RANK={} is the number of this pod, and of no rank", printable(*rank)));
  }
}

void take_index(EngineReader& variables, EngineEvidence& evidence) {
  for (const std::string_view name : {"DTL_NNODES", "DTL_RDZV"}) {
    if (variables.has(name)) continue;
    throw Error(Exit::kBadInput, fmt::format("{} is missing", name),
                "an Indexed Job does not tell its pods how many they are, nor where they meet",
                "DTL_NNODES and DTL_RDZV=POD:29500 in the manifest, or --engine none");
  }
  if (variables.has("DTL_NODE_RANK")) return;
  evidence.node_rank = variables.needed_number("JOB_COMPLETION_INDEX", 0, kMaxNodes - 1);
}

// TrainJob gives a node as many processes as it has CPUs, unless numProcPerNode says otherwise.
void warn_of_crowd(const EngineAnswers& answers, EngineEvidence& evidence) {
  if (!evidence.ranks_per_node || answers.cpus == 0) return;
  const int ranks = *evidence.ranks_per_node;
  const bool one_thread = answers.cpus < 2 * ranks;
  if (!one_thread || ranks <= std::max(answers.numa_nodes, 1)) return;
  evidence.crowded =
      Error(Exit::kConfig,
            fmt::format("PET_NPROC_PER_NODE={} for {}", ranks, plural(answers.cpus, "CPU")),
            "each rank computes with one thread, and has all that it allocates for "
            "itself; TrainJob's default is a rank for each CPU",
            "-ppn 1, or numProcPerNode: 1 in the TrainJob")
          .what();
}

}  // namespace

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

std::string first_label(const std::string& name) {
  return name.substr(0, name.find('.'));
}

EngineFile engine_file(Engine engine, EngineReader& variables) {
  std::string_view name = "PBS_NODEFILE";
  if (engine == Engine::kSge) name = "PE_HOSTFILE";
  if (engine == Engine::kMpiJob || engine == Engine::kTrainJob) {
    name = variables.first_of(
        {"I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile"});
    if (!variables.has(name)) return {"/etc/mpi/hostfile", ""};
  }
  return {variables.needed(name), std::string(name)};
}

const std::string& text_of(const EngineFile& file, const EngineAnswers& answers) {
  if (answers.file) return *answers.file;
  throw Error(Exit::kBadInput,
              file.named_by.empty() ? file.path : file.named_by + "=" + printable(file.path),
              answers.file_problem, "--engine none, or the hosts by -f FILE");
}

EngineEvidence mpi_job_evidence(EngineReader& variables, const EngineAnswers& answers) {
  EngineEvidence evidence;
  if (const auto role = variables.text("K_MPI_JOB_ROLE")) {
    if (*role == "worker") {
      evidence.role = EngineRole::kNode;
      evidence.refusal = {"this is a worker of an MPIJob", "its launcher starts what runs here",
                          "dtlaunch as the launcher's command, and sshd as that of the workers"};
      return evidence;
    }
    if (*role != "launcher") {
      throw variables.bad("K_MPI_JOB_ROLE", "it is neither launcher nor worker");
    }
  }
  const EngineFile file = engine_file(Engine::kMpiJob, variables);
  evidence.hosts = parse_hostfile(text_of(file, answers), file.path);
  evidence.follows.push_back("the hosts are those of " + file.path);
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

EngineEvidence pod_evidence(Engine engine, EngineReader& variables, const EngineAnswers& answers) {
  EngineEvidence evidence;
  evidence.role = EngineRole::kNode;
  if (engine == Engine::kIndexedJob) {
    take_index(variables, evidence);
  } else {
    take_torchruns(variables, answers, evidence);
  }
  take_own_variables(variables, evidence);
  if (engine == Engine::kTrainJob) variables.text("JOB_COMPLETION_INDEX");  // what tells it apart
  if (engine == Engine::kTrainJob) warn_of_crowd(answers, evidence);
  evidence.is_coordinator =
      evidence.node_rank ? *evidence.node_rank == 0
                         : is_looked_for(evidence.coordinator, name_of_pod(variables, answers));
  return evidence;
}

void take_meeting_point(EngineReader& variables, EngineEvidence& evidence) {
  take_endpoint(variables, "DTL_RDZV", evidence);
  if (evidence.coordinator_port > 0) return;
  std::uint32_t sum = 0;
  for (const char c : evidence.job_id) sum = sum * 31 + static_cast<unsigned char>(c);
  evidence.coordinator_port = kFirstPort + static_cast<int>(sum % kPorts);
}

void take_own_variables(EngineReader& variables, EngineEvidence& evidence) {
  take_nodes(variables, "DTL_NNODES", evidence);
  if (const auto rank = variables.number("DTL_NODE_RANK", 0, kMaxNodes - 1)) {
    evidence.node_rank = rank;
    evidence.node_hint.reset();
  }
  take_endpoint(variables, "DTL_RDZV", evidence);
  evidence.restart = variables.number("DTL_RESTART", 0, INT32_MAX).value_or(evidence.restart);
  if (const std::string id = variables.job_id("DTL_JOB_ID"); !id.empty()) evidence.job_id = id;
}

}  // namespace dtl
