// Flux appears in two forms: a task of a job (FLUX_TASK_RANK), or an instance that can start jobs
// (FLUX_URI). A task has FLUX_URI too, so FLUX_TASK_RANK decides. Host lists have Slurm's form. No
// variable contains the hosts, so the flux program is asked.
#include "plan/schedulers/flux.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/schedulers/own_variables.h"
#include "plan/schedulers/slurm_hostlist.h"

namespace dtl {
namespace {

constexpr StarterWord kFluxWords[] = {{"flux"}};
constexpr std::string_view kFluxPrograms[] = {"flux"};
constexpr Starter kFluxExec = {
    .way = Starter::Way::kStep,
    .words = kFluxWords,
    .programs = kFluxPrograms,
    .summary = "flux exec: once for all hosts, from which agents come back",
    .elsewhere = "FLUX_URI is not set: this is not a job script or a shell of Flux",
    .elsewhere_hint = "flux alloc -N 2 dtlaunch ..., or dtlaunch --show-scheduler",
};

// The address where tasks meet: the job's first host, where its first task runs. "": flux has not
// answered, and the user must set DTL_RDZV.
std::string first_host(const SchedulerAnswers& answers) {
  if (!answers.tool || trim(*answers.tool).empty()) return {};
  const TextPosition start{"flux hostlist: column ", 1, Exit::kBadInput};
  const auto names = expand_slurm_hostlist(trim(*answers.tool), start);
  // The text comes from a program, and the name becomes part of commands.
  check_host_name(names[0], start);
  return names[0];
}

// A script of `flux batch` or a shell of `flux alloc`: a Flux instance with its own hosts, one per
// broker, in order of rank.
SchedulerEvidence read_instance(SchedulerReader& variables, const SchedulerAnswers& answers) {
  SchedulerEvidence evidence;
  evidence.starter = &kFluxExec;
  variables.text("FLUX_URI");
  if (!answers.tool || trim(*answers.tool).empty()) {
    evidence.refusal = {"this is a job script or a shell of Flux",
                        "flux getattr hostlist does not name its hosts",
                        "flux getattr hostlist, to see why; or -f FILE, which uses ssh"};
    return evidence;
  }
  const TextPosition start{"flux getattr hostlist: column ", 1, Exit::kBadInput};
  const auto names = expand_slurm_hostlist(trim(*answers.tool), start);
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    check_host_name(names[rank], start);
    const bool known = std::any_of(evidence.hosts.begin(), evidence.hosts.end(),
                                   [&](const Host& host) { return host.name == names[rank]; });
    if (known) continue;  // several brokers on one host: one is enough
    Host& host = evidence.hosts.emplace_back();
    host.name = names[rank];
    host.where = "flux getattr hostlist";
    evidence.host_lines.push_back(static_cast<int>(rank));
  }
  evidence.hosts_are_all = true;
  evidence.follows.push_back("Flux does not say slots: each host has as many as physical cores");
  return evidence;
}

SchedulerEvidence read_flux(const Sighting& /*seen*/, SchedulerReader& variables,
                            const SchedulerAnswers& answers) {
  if (!variables.text("FLUX_TASK_RANK")) return read_instance(variables, answers);
  SchedulerEvidence evidence;
  const int size = variables.needed_number("FLUX_JOB_SIZE", 1, kMaxRanks);
  const int nodes = variables.needed_number("FLUX_JOB_NNODES", 1, size);
  const int rank = variables.needed_number("FLUX_TASK_RANK", 0, size - 1);
  evidence.job_id = variables.job_id("FLUX_JOB_ID");
  evidence.node_count = nodes;
  evidence.coordinator = first_host(answers);
  evidence.is_coordinator = rank == 0;
  // One task on each node: a node's dtlaunch. More: each task is a rank.
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

// Asks for the hosts. For a task, Flux before 0.59 reports them in its list of jobs, as it has no
// `flux hostlist`. With DTL_RDZV the question is not needed.
void ask_hostlist(const Sighting& /*seen*/, SchedulerReader& variables,
                  SchedulerQuestions& questions) {
  if (!variables.has("FLUX_TASK_RANK")) {
    questions.tool = {"flux getattr", "exec flux getattr hostlist", ""};
  } else if (!variables.has("DTL_RDZV")) {
    questions.tool = {"flux hostlist", "flux hostlist \"$0\" || flux jobs -no '{nodelist}' \"$0\"",
                      variables.job_id("FLUX_JOB_ID")};
  }
}

constexpr HostCommands kFluxCommands = {
    .state = "flux resource status",
    .kills = "flux job eventlog {1}",
    .ends = "flux cancel {1}",
    .runs = "flux run -n 1 --requires=host:{0} sh -c {2}",
};

// FLUX_URI and FLUX_JOB_ID stay: they are valid for every rank.
constexpr std::string_view kFluxTaskVariables[] = {"FLUX_TASK_*"};

}  // namespace

constexpr Scheduler kFlux = {
    .name = "flux",
    .title = "Flux",
    .runs_inside = "slurm",
    .task_command = "flux run",
    .token_hint =
        "export DTL_TOKEN_FILE=FILE before flux run, of a file that all hosts see: (umask "
        "077; openssl rand -hex 32 >FILE)",
    .task_variables = kFluxTaskVariables,
    .starter = &kFluxExec,
    .look = look_for_flux,
    .ask = ask_hostlist,
    .read = read_flux,
    .commands = [](const SchedulerEvidence&) -> const HostCommands& { return kFluxCommands; },
};

}  // namespace dtl
