#include "plan/schedulers/flux.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/schedulers/own_variables.h"
#include "plan/schedulers/slurm_hostlist.h"

namespace dtl {
namespace {

// Flux says in no variable where a job runs; its first task is on the first host.
std::string first_host(const SchedulerAnswers& answers) {
  if (!answers.tool || trim(*answers.tool).empty()) return {};
  const TextPosition start{"flux hostlist: column ", 1, Exit::kBadInput};
  const auto names = expand_slurm_hostlist(trim(*answers.tool), start);
  check_host_name(names[0], start);
  return names[0];
}

SchedulerEvidence read_flux(const Sighting& /*seen*/, SchedulerReader& variables,
                            const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
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
    evidence.role = SchedulerRole::kNode;
    evidence.node_rank = rank;
    take_own_variables(variables, evidence);
    check_node_rank(variables, evidence, {"DTL_NODE_RANK", "FLUX_TASK_RANK"});
  } else {
    evidence.role = SchedulerRole::kRank;
    evidence.rank =
        SchedulerRank{rank, variables.needed_number("FLUX_TASK_LOCAL_ID", 0, size - 1), size};
    evidence.follows.push_back(
        fmt::format("Flux has started {}; this is rank {}", plural(size, "rank"), rank));
  }
  take_meeting_point(variables, evidence);
  return evidence;
}

std::vector<Sighting> look_for_flux(const SchedulerReader& variables, bool /*asked*/) {
  return sightings_of(variables, {variables.first_of({"FLUX_TASK_RANK", "FLUX_URI"})});
}

// Which hosts the job has, of a Flux before 0.59 by its list of jobs: it has no `flux hostlist`.
void ask_hostlist(const Sighting& /*seen*/, SchedulerReader& variables,
                  SchedulerQuestions& questions) {
  if (!variables.has("FLUX_TASK_RANK") || variables.has("DTL_RDZV")) return;
  questions.tool = {"flux hostlist", "flux hostlist \"$0\" || flux jobs -no '{nodelist}' \"$0\"",
                    variables.job_id("FLUX_JOB_ID")};
}

constexpr HostCommands kFluxCommands = {
    .state = "flux resource status",
    .kills = "flux job eventlog {1}",
    .ends = "flux cancel {1}",
    .runs = "flux run -n 1 --requires=host:{0} sh -c {2}",
};

constexpr std::string_view kFluxTaskVariables[] = {"FLUX_TASK_*"};

}  // namespace

constexpr Scheduler kFlux = {
    .name = "flux",
    .runs_inside = "slurm",
    .task_command = "flux run",
    .token_hint =
        "export DTL_TOKEN_FILE=FILE before flux run, of a file that all hosts see: (umask "
        "077; openssl rand -hex 32 >FILE)",
    .task_variables = kFluxTaskVariables,
    .look = look_for_flux,
    .ask = ask_hostlist,
    .read = read_flux,
    .commands = [](const SchedulerEvidence&) -> const HostCommands& { return kFluxCommands; },
};

}  // namespace dtl
