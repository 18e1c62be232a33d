// Two cases: dtlaunch runs once, in a script of sbatch or a shell of salloc; or `srun dtlaunch` has
// started one on each node, and the first starts a step beside the one that they are in.
#include "launcher/schedulers/srun_starter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "launcher/schedulers/job_token.h"
#include "launcher/schedulers/srun_command.h"
#include "launcher/schedulers/srun_version.h"
#include "launcher/schedulers/step_node.h"
#include "plan/schedulers/slurm.h"

namespace dtl {
namespace {

bool asks_for_srun(const CommandLine& line) {
  return line.starting.agent_start && line.starting.agent_start->starter == kSlurm.starter;
}

// `only`: hosts outside the allocation are refused, because srun cannot reach them.
StepPlan plan_of_srun(const SchedulerEvidence& evidence, const std::string& srun) {
  StepPlan step;
  step.by = kSlurm.starter;
  step.program = srun;
  step.only = true;
  // The job's number and not the step's, because nodes find the job's in SLURM_JOB_ID.
  step.job = evidence.step_of.empty() ? evidence.job_id : evidence.step_of;
  if (is_first_of_several(evidence)) step.beside = evidence.job_id;
  step.nodes = evidence.hosts;
  return step;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Slurm sets these in every task.
std::string needed_variable(const char* name) {
  std::string value = variable(name);
  if (!value.empty()) return value;
  throw option_error(std::string("dtlaunch ") + kSrunNode,
                     fmt::format("{} is not set: this is not a task of srun", name),
                     "dtlaunch -launcher srun, which runs this by itself");
}

}  // namespace

StarterCommands SrunStarter::commands(const std::vector<std::string>& nodes, int port,
                                      const std::string& token) {
  StarterCommands made;
  made.environment = entries_of(srun_environment(options_.environment));
  SrunWish wish;
  wish.srun = options_.srun;
  wish.nodes = nodes;
  wish.whole = options_.whole;
  // Asked when the step starts, because the answer may take a moment.
  wish.version = version_of_srun(wish.srun, made.environment);
  wish.command = options_.command;
  wish.command.push_back(std::to_string(port));
  if (!options_.beside.empty()) wish.command.push_back(options_.beside);
  made.commands.push_back(srun_arguments(wish));
  if (!names_token_file(options_.environment)) made.environment.push_back("DTL_TOKEN=" + token);
  return made;
}

std::string SrunStarter::hint(const Host& host) const {
  return fmt::format("srun --overlap -N 1 -n 1 -w {} hostname", host.name);
}

void check_srun_options(const CommandLine& line, const SchedulerEvidence& evidence) {
  const auto refuse = [](const std::string& option, const std::string& reason,
                         const std::string& hint) { throw option_error(option, reason, hint); };
  const bool several = evidence.node_count.value_or(1) > 1;
  if (several && line.starting.agent_start && !asks_for_srun(line)) {
    refuse("-launcher", "srun has started dtlaunch on every node, and keeps it",
           "the same command without it");
  }
  if (line.starting.push) {
    refuse("--push", "srun does not copy files to hosts",
           "dtlaunch in a folder that all hosts see");
  }
  if (line.ending.reconnect.count() > 0) {
    refuse("--reconnect", "a step of Slurm is not logged in to again once it is lost",
           "the same command without it, or -launcher ssh where Slurm allows that");
  }
  if (several && line.detach) {
    refuse("--detach", "srun has started dtlaunch on every node, and keeps it",
           "the same command without it");
  }
}

std::optional<StepPlan> plan_srun_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                       const Variables& environment,
                                       std::vector<std::string>& notices) {
  const bool asked = asks_for_srun(line);
  // Before all else: the other nodes check the same options and exit for the same reason.
  if (is_first_of_several(evidence)) check_srun_options(line, evidence);
  if (line.starting.agent_start && !asked) return std::nullopt;
  if (const auto srun = find_starter_program(*kSlurm.starter, {}, evidence, environment)) {
    check_srun_options(line, evidence);
    return plan_of_srun(evidence, *srun);
  }
  // The tasks on the other nodes wait for a step, so ssh cannot replace it.
  if (is_first_of_several(evidence)) {
    throw Error(Exit::kConfig, "cannot start agents", "srun is not on PATH on this node",
                "DTL_TOKEN=$(openssl rand -hex 32) srun ... dtlaunch ...");
  }
  if (asked) {
    throw Error(Exit::kConfig, "-launcher srun", "srun is not on PATH",
                "-launcher ssh, where Slurm allows that");
  }
  notices.emplace_back("srun is not on PATH: agents start over ssh, outside of the job's step");
  return std::nullopt;
}

std::unique_ptr<StepStarter> make_srun_starter(const StepPlan& plan, const Surroundings& around) {
  SrunStarterOptions srun;
  srun.srun = plan.program;
  srun.whole = plan.whole;
  srun.command = {around.program_directory + "/dtlaunch", kSrunNode};
  srun.beside = plan.beside;
  srun.environment = environment_of_starter(around);
  return std::make_unique<SrunStarter>(std::move(srun));
}

int run_srun_node(const std::vector<std::string>& words, const std::string& agent_path) {
  const auto port = words.empty() ? std::nullopt : parse_integer(words[0], 1, 65535);
  if (!port || words.size() > 2) {
    throw option_error(std::string("dtlaunch ") + kSrunNode, "needs a port",
                       "dtlaunch -launcher srun, which runs this by itself");
  }
  // From DTL_TOKEN, or the file that DTL_TOKEN_FILE names.
  const auto token = take_job_token();
  if (!token) needed_variable("DTL_TOKEN");
  Fd waiter;
  // Both steps have the same nodes, and no dtlaunch waits on the first one.
  const bool first = variable("SLURM_NODEID") == "0";
  if (words.size() == 2 && !first) waiter = connect_to_waiter(words[1]);
  JoinCall call;
  call.token = *token;
  call.host = needed_variable("SLURM_LAUNCH_NODE_IPADDR");  // srun's host, as this node reaches it
  call.port = static_cast<int>(*port);
  call.hello.job = needed_variable("SLURM_JOB_ID");
  call.hello.name = needed_variable("SLURMD_NODENAME");
  const int status = join_as_node(std::move(call), agent_path);
  // Until then the connection stays open: its end tells the waiting dtlaunch that this one is lost.
  if (waiter.valid()) release_waiter(waiter, status);
  return status;
}

}  // namespace dtl
