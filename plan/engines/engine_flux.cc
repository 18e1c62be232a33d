#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "plan/engines/engine_parts.h"
#include "plan/engines/slurm_hostlist.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

// Flux says in no variable where a job runs; its first task is on the first host.
std::string first_host(const EngineAnswers& answers) {
  if (!answers.hostnames || trim(*answers.hostnames).empty()) return {};
  const TextPosition start{"flux hostlist: column ", 1, Exit::kBadInput};
  const auto names = expand_slurm_hostlist(trim(*answers.hostnames), start);
  check_host_name(names[0], start);
  return names[0];
}

}  // namespace

EngineEvidence flux_evidence(EngineReader& variables, const EngineAnswers& answers) {
  EngineEvidence evidence;
  if (!variables.text("FLUX_TASK_RANK")) {
    variables.text("FLUX_URI");
    evidence.refusal = {"this is a script inside of Flux",
                        "Flux brings no agents to hosts; its tasks do, one on each node",
                        "flux run -N NODES --tasks-per-node=1 dtlaunch ..., or -f FILE for ssh"};
    return evidence;
  }
  const int size = variables.needed_number("FLUX_JOB_SIZE", 1, kMaxRanks);
  const int nodes = variables.needed_number("FLUX_JOB_NNODES", 1, size);
  const int rank = variables.needed_number("FLUX_TASK_RANK", 0, size - 1);
  evidence.job_id = variables.job_id("FLUX_JOB_ID");
  evidence.node_count = nodes;
  evidence.coordinator = first_host(answers);
  evidence.is_coordinator = rank == 0;
  if (size == nodes) {
    evidence.role = EngineRole::kNode;
    evidence.node_rank = rank;
    take_own_variables(variables, evidence);
  } else {
    evidence.role = EngineRole::kRank;
    evidence.rank =
        EngineRank{rank, variables.needed_number("FLUX_TASK_LOCAL_ID", 0, size - 1), size};
    evidence.follows.push_back(
        fmt::format("Flux has started {}; this is rank {}", plural(size, "rank"), rank));
  }
  take_meeting_point(variables, evidence);
  return evidence;
}

}  // namespace dtl
