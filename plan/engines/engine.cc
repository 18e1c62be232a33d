#include "plan/engines/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/engines/engine_parts.h"
#include "plan/engines/engine_reader.h"
#include "plan/engines/engine_sighting.h"
#include "plan/engines/slurm_hostlist.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

struct EngineName {
  std::string_view name;
  Engine engine;
};
constexpr std::array kEngineNames = {
    EngineName{"none", Engine::kNone},         EngineName{"slurm", Engine::kSlurm},
    EngineName{"flux", Engine::kFlux},         EngineName{"pbs", Engine::kPbs},
    EngineName{"lsf", Engine::kLsf},           EngineName{"sge", Engine::kSge},
    EngineName{"mpijob", Engine::kMpiJob},     EngineName{"pytorchjob", Engine::kPyTorchJob},
    EngineName{"trainjob", Engine::kTrainJob}, EngineName{"indexed-job", Engine::kIndexedJob},
    EngineName{"jobset", Engine::kIndexedJob},  // a JobSet's pods are those of Indexed Jobs
};

// TrainJob has two kinds of pods: torchrun's, and launchers with a hostfile.
bool has_hostfile(const Sighting& seen) {
  return seen.engine == Engine::kMpiJob ||
         (seen.engine == Engine::kTrainJob && !seen.variable.starts_with("PET_"));
}

// The number of a pod and no more: each may be meant to compute by itself.
bool is_bare_index(const Sighting& seen, std::optional<Engine> wanted,
                   const EngineReader& variables) {
  return seen.engine == Engine::kIndexedJob && !wanted && !variables.has("DTL_NNODES") &&
         !variables.has("DTL_RDZV");
}

EngineEvidence read_evidence(const Sighting& seen, EngineReader& variables,
                             const EngineAnswers& answers) {
  switch (seen.engine) {
    case Engine::kNone:
      break;
    case Engine::kSlurm:
      return slurm_evidence(variables, answers);
    case Engine::kFlux:
      return flux_evidence(variables, answers);
    case Engine::kPbs:
    case Engine::kLsf:
    case Engine::kSge:
      return listed_evidence(seen.engine, variables, answers);
    case Engine::kMpiJob:
      return mpi_job_evidence(variables, answers);
    case Engine::kTrainJob:
      if (has_hostfile(seen)) return mpi_job_evidence(variables, answers);
      return pod_evidence(seen.engine, variables, answers);
    case Engine::kPyTorchJob:
    case Engine::kIndexedJob:
      return pod_evidence(seen.engine, variables, answers);
  }
  return {};
}

void find_this_host(const EngineAnswers& answers, EngineEvidence& evidence) {
  const bool known = std::any_of(evidence.hosts.begin(), evidence.hosts.end(),
                                 [](const Host& host) { return host.here; });
  if (known || evidence.role != EngineRole::kLauncher) return;
  for (Host& host : evidence.hosts) host.here = same_host_name(host.name, answers.host_name);
}

// A node's place: its number fits, and it knows where the others are.
void settle_node(const EngineReader& variables, EngineEvidence& evidence) {
  if (evidence.role == EngineRole::kLauncher || evidence.refusal) return;
  const int most = evidence.elastic ? evidence.elastic->most : evidence.node_count.value_or(1);
  if (evidence.node_rank && *evidence.node_rank >= most) {
    throw variables.bad(
        variables.first_of({"DTL_NODE_RANK", "PET_NODE_RANK", "JOB_COMPLETION_INDEX", "HOSTNAME"}),
        fmt::format("there are only {}, counted from 0", plural(most, "node")));
  }
  if (most == 1 && evidence.role == EngineRole::kNode) {
    evidence.follows.push_back("there is one node: the job runs on this machine alone");
    return;
  }
  if (evidence.coordinator.empty()) {
    const int tasks = evidence.rank ? evidence.rank->world_size : 0;
    evidence.refusal = {
        fmt::format("this is one of {}", tasks > 0 ? plural(tasks, "task") : plural(most, "node")),
        "nothing says where they can meet",
        "DTL_RDZV=HOST:29500, of one of them, in the environment of all"};
    return;
  }
  if (evidence.node_rank && evidence.node_count && evidence.ranks_per_node) {
    const int each = *evidence.ranks_per_node, first = *evidence.node_rank * each;
    evidence.follows.push_back(
        fmt::format("with {} on each node, this one has {} of {}", plural(each, "rank"),
                    each == 1 ? fmt::format("rank {}", first)
                              : fmt::format("the ranks {}-{}", first, first + each - 1),
                    static_cast<std::int64_t>(*evidence.node_count) * each));
  }
}

EngineEvidence no_engine(const Sighting& seen, std::optional<Engine> wanted) {
  EngineEvidence evidence;
  if (wanted) {
    evidence.follows.push_back("--engine none: whatever the environment says");
  } else if (seen.engine != Engine::kNone) {
    evidence.warnings.push_back(
        "JOB_COMPLETION_INDEX says that this is a pod of an Indexed Job, and DTL_NNODES and "
        "DTL_RDZV are not there: it runs a job of its own");
  }
  evidence.follows.push_back("without hosts, the job runs on this machine");
  return evidence;
}

// Who starts jobs inside a rank does not want the hosts of the whole allocation.
bool is_inside_a_rank(const EngineReader& variables, std::optional<Engine> wanted) {
  return !wanted && variables.has("DTLAUNCH_JOB");
}

}  // namespace

EngineQuestions engine_questions(const Variables& environment, std::optional<Engine> wanted) {
  EngineReader variables(environment);
  EngineQuestions questions;
  if (is_inside_a_rank(variables, wanted)) return questions;
  const Sighting seen = choose_engine(variables, wanted);
  if (is_bare_index(seen, wanted, variables)) return questions;
  questions.engine = seen.engine;
  const bool worker = variables.text("K_MPI_JOB_ROLE") == "worker";
  const bool listed = seen.engine == Engine::kPbs || seen.engine == Engine::kSge;
  if (listed || (has_hostfile(seen) && !worker)) {
    EngineFile file = engine_file(seen.engine, variables);
    questions.file = std::move(file.path);
    questions.named_by = std::move(file.named_by);
    if (has_hostfile(seen)) questions.running = kRunningWorkers;
    questions.pod_keys = has_hostfile(seen);
  }
  if (seen.engine == Engine::kFlux && variables.has("FLUX_TASK_RANK") &&
      !variables.has("DTL_RDZV")) {
    questions.flux_job = variables.job_id("FLUX_JOB_ID");
  }
  if (seen.engine == Engine::kSlurm) {
    const auto list = variables.text(variables.first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
    if (list && has_several_brackets(*list)) questions.expression = *list;
  }
  return questions;
}

EngineEvidence find_engine(const Variables& environment, std::optional<Engine> wanted,
                           const EngineAnswers& answers) {
  EngineReader variables(environment);
  EngineEvidence evidence;
  if (is_inside_a_rank(variables, wanted)) {
    variables.text("DTLAUNCH_JOB");
    evidence.follows.push_back("this is a rank of another job, whose hosts are that job's");
    evidence.used = variables.used();
    return evidence;
  }
  Sighting seen = choose_engine(variables, wanted);
  if (seen.engine == Engine::kNone || is_bare_index(seen, wanted, variables)) {
    if (seen.engine != Engine::kNone) variables.text(seen.variable);
    evidence = no_engine(seen, wanted);
  } else {
    evidence = read_evidence(seen, variables, answers);
    evidence.engine = seen.engine;
    find_this_host(answers, evidence);
    settle_node(variables, evidence);
  }
  evidence.used = variables.used();
  return evidence;
}

Engine parse_engine(const std::string& text) {
  std::vector<std::string> known;
  for (const EngineName& each : kEngineNames) {
    if (each.name == to_lower(text)) return each.engine;
    known.emplace_back(each.name);
  }
  const std::string near = nearest(to_lower(text), known);
  throw Error(Exit::kUsage, "--engine " + text, "there is no such engine here",
              near.empty() ? join(known, ", ") : near);
}

std::string_view engine_name(Engine engine) {
  return std::find_if(kEngineNames.begin(), kEngineNames.end(),
                      [&](const EngineName& each) { return each.engine == engine; })
      ->name;
}

std::string token_line(Engine engine) {
  if (engine == Engine::kSlurm) {
    return "export DTL_TOKEN=$(openssl rand -hex 32), before srun; or DTL_TOKEN_FILE, of a file "
           "that "
           "all hosts see";
  }
  if (engine == Engine::kFlux) {
    return "export DTL_TOKEN_FILE=FILE before flux run, of a file that all hosts see: (umask 077; "
           "openssl rand -hex 32 >FILE)";
  }
  return "openssl rand -hex 32 | kubectl create secret generic dtlaunch-token "
         "--from-file=token=/dev/stdin, and in the manifest DTL_TOKEN from that Secret";
}

HostAccess engine_access(const EngineEvidence& evidence) {
  HostAccess access;
  switch (evidence.engine) {
    case Engine::kNone:
      return access;
    case Engine::kPbs:
      access.by = evidence.starter_path.ends_with("/pbsdsh") ? HostAccess::By::kPbsdsh
                                                             : HostAccess::By::kPbs;
      break;
    case Engine::kSlurm:
      access.by = HostAccess::By::kSlurm;
      break;
    case Engine::kFlux:
      access.by = HostAccess::By::kFlux;
      break;
    case Engine::kLsf:
      access.by = HostAccess::By::kLsf;
      break;
    case Engine::kSge:
      access.by = HostAccess::By::kSge;
      break;
    case Engine::kMpiJob:
      access.by = HostAccess::By::kWorkerPod;
      break;
    case Engine::kPyTorchJob:
    case Engine::kTrainJob:
    case Engine::kIndexedJob:
      access.by = HostAccess::By::kPod;
      break;
  }
  access.job = evidence.job_id;
  // "42.0" is a step of a job of Slurm.
  if (access.by == HostAccess::By::kSlurm) access.job = access.job.substr(0, access.job.find('.'));
  return access;
}

bool same_host_name(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  if (canonical_name(one) == canonical_name(other)) return true;
  if (is_address(one) || is_address(other)) return false;
  const bool both_long = one.find('.') != one.npos && other.find('.') != other.npos;
  return !both_long && to_lower(first_label(one)) == to_lower(first_label(other));
}

}  // namespace dtl
