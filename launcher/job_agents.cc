#include "launcher/job_agents.h"

#include <utility>

#include "launcher/agents/carried_agent.h"
#include "launcher/job_token.h"
#include "launcher/jobs/discover_hosts.h"
#include "launcher/request/job_engine.h"
#include "launcher/request/pod_keys.h"
#include "launcher/step/agent_step.h"
#include "launcher/step/srun_starter.h"
#include "launcher/step/tm_starter.h"
#include "launcher/step_node.h"

namespace dtl {
namespace {

std::unique_ptr<StepStarter> srun_starter(const StepPlan& plan, const Surroundings& around) {
  SrunStarterOptions srun;
  srun.srun = plan.program;
  srun.whole = plan.whole;
  srun.command = {around.program_directory + "/dtlaunch", kStepNode};
  srun.beside = plan.beside;
  srun.environment = around.environment;
  return std::make_unique<SrunStarter>(std::move(srun));
}

std::unique_ptr<StepStarter> tm_starter(const StepPlan& plan, const Surroundings& around) {
  TmStarterOptions tm;
  tm.program = plan.program;
  tm.lines = plan.lines;
  tm.command = {around.program_directory + "/dtlaunch", kTmNode};
  tm.meeting_host = plan.meeting_host;
  tm.job = plan.job;
  tm.environment = around.environment;
  if (const std::string file = job_token_file(); !file.empty()) {
    tm.given_token_file = file.starts_with('/') ? file : around.working_directory + "/" + file;
  }
  return std::make_unique<TmStarter>(std::move(tm));
}

// One of PBS's tasks goes with its dtlaunch; where others wait beside a step, they are told by it.
bool can_be_kept(const StepPlan& plan) {
  return plan.by == EngineStarter::kSrun && plan.beside.empty();
}

std::shared_ptr<AgentStep> step_of(const StepPlan& plan, const JobSettings& settings,
                                   const Surroundings& around, StepNews news = {}) {
  AgentStepOptions options;
  options.nodes = plan.nodes;
  options.only = plan.by == EngineStarter::kSrun;  // PBS's tasks are not for this host
  options.job = plan.job;
  options.ports = settings.job.ports;
  options.token = take_job_token().value_or("");
  options.patience = plan.patience;
  options.told_to_end = std::move(news.told_to_end);
  options.over = std::move(news.over);
  return std::make_shared<AgentStep>(
      plan.by == EngineStarter::kTm ? tm_starter(plan, around) : srun_starter(plan, around),
      std::move(options));
}

}  // namespace

StartOptions start_options(const Surroundings& around, bool accept_new_host_keys) {
  StartOptions start;
  start.agent_path = around.program_directory + "/dtagent";
  start.trust.accept_new_host_keys = accept_new_host_keys;
  start.trust.pod_keys = pod_keys_of_launcher(around.environment);
  return start;
}

StartOptions start_options(const JobSettings& settings, const Surroundings& around,
                           bool accept_new_host_keys) {
  StartOptions start = start_options(around, accept_new_host_keys);
  start.carrier = settings.carrier;
  start.trust.pod_keys = settings.pod_keys;
  start.service = settings.engine == Engine::kNone;
  if (!settings.step) return start;
  start.step = step_of(*settings.step, settings, around);
  if (can_be_kept(*settings.step)) start.kept_job = settings.step->job;
  return start;
}

std::optional<EngineJob> find_engine_job() {
  Surroundings around = current_surroundings();
  around.scontrol = expand_by_scontrol;
  const JobSettings settings = settings_of_engine(around);
  if (!settings.step || !can_be_kept(*settings.step)) return std::nullopt;
  EngineJob job;
  job.job = settings.step->job;
  job.nodes = settings.step->nodes;
  job.make_step = [settings, around](StepNews news) {
    return step_of(*settings.step, settings, around, std::move(news));
  };
  return job;
}

AgentStarter agent_starter(const StartOptions& start, AgentStart how) {
  return [start, how](asio::io_context& context, Host host) {
    if (start.step && start.step->takes(host)) {
      return start_step_agent(context, std::move(host), start);
    }
    if (how == AgentStart::kFork || is_local(host)) return start_local_agent(context, start);
    return start.carrier.empty() ? start_ssh_agent(context, std::move(host), start)
                                 : start_carried_agent(context, std::move(host), start);
  };
}

AgentFinder agent_finder(const StartOptions& start) {
  return [start](asio::io_context& context, Host host, std::string link, Resume offer,
                 std::chrono::steady_clock::time_point deadline) {
    return rejoin_agent(context, std::move(host), start, std::move(link), std::move(offer),
                        deadline);
  };
}

}  // namespace dtl
