// flux addresses brokers by rank and not by the names of nodes; StepPlan::lines has the ranks.
#include "launcher/schedulers/flux_starter.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/schedulers/job_token.h"
#include "launcher/schedulers/step_node.h"
#include "plan/schedulers/flux.h"

namespace dtl {
namespace {

constexpr const char* kInstance = "flux";  // the job, if Flux does not say which one

void check_flux_options(const CommandLine& line) {
  if (line.starting.push) {
    throw option_error("--push", "Flux does not copy files to hosts",
                       "dtlaunch in a folder that all hosts see");
  }
  if (line.ending.reconnect.count() > 0) {
    throw option_error("--reconnect", "flux exec does not start an agent again once it is lost",
                       "the same command without it, or -launcher ssh where the site allows that");
  }
}

}  // namespace

std::vector<std::string> flux_arguments(const std::string& flux, const std::vector<int>& ranks,
                                        const std::vector<std::string>& command) {
  std::vector<std::string> texts;
  for (const int rank : ranks) texts.push_back(std::to_string(rank));
  std::vector<std::string> words = {flux, "exec", "--noinput", "--dir=/",
                                    "--rank=" + join(texts, ",")};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

StarterCommands FluxStarter::commands(const std::vector<std::string>& /*nodes*/, int port,
                                      const std::string& token) {
  StarterCommands made;
  made.environment = entries_of(options_.environment);
  std::vector<std::string> command = options_.command;
  // The nodes have no variable with dtlaunch's address, so the command has it.
  command.insert(command.end(), {options_.meeting_host, std::to_string(port), options_.job});
  made.commands.push_back(flux_arguments(options_.flux, options_.ranks, command));
  // In the environment and not in the arguments, which every user of a host can read.
  if (!names_token_file(options_.environment)) made.environment.push_back("DTL_TOKEN=" + token);
  return made;
}

std::string FluxStarter::hint(const Host& host) const {
  return fmt::format("flux run -n 1 --requires=host:{} hostname", host.name);
}

std::optional<StepPlan> plan_flux_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                       const Variables& environment,
                                       std::vector<std::string>& notices) {
  const Starter& starter = *kFlux.starter;
  const bool asked = line.starting.agent_start && line.starting.agent_start->starter == &starter;
  // The user chose another way.
  if (line.starting.agent_start && !asked) return std::nullopt;
  const auto flux = find_starter_program(starter, {}, evidence, environment);
  if (!flux && asked) {
    throw Error(Exit::kConfig, "-launcher flux", no_starter_program(starter, {}),
                "-launcher ssh where the site allows that");
  }
  if (!flux) {
    notices.push_back(no_starter_program(starter, {}) + ": agents start over ssh");
    return std::nullopt;
  }
  // After the program is found: without it, agents start over ssh, where these options work.
  check_flux_options(line);
  StepPlan step;
  step.by = &starter;
  step.program = *flux;
  step.only = true;
  step.job = evidence.job_id.empty() ? kInstance : evidence.job_id;
  step.nodes = evidence.hosts;
  step.lines = evidence.host_lines;
  // Flux uses the hosts' own names.
  step.meeting_host = own_host_name();
  return step;
}

std::unique_ptr<StepStarter> make_flux_starter(const StepPlan& plan, const Surroundings& around) {
  FluxStarterOptions options;
  options.flux = plan.program;
  options.ranks = plan.lines;
  options.command = {around.program_directory + "/dtlaunch", kFluxNode};
  options.meeting_host = plan.meeting_host;
  options.job = plan.job;
  options.environment = environment_of_starter(around);
  return std::make_unique<FluxStarter>(std::move(options));
}

int run_flux_node(const std::vector<std::string>& words, const std::string& agent_path) {
  const auto port = words.size() == 3 ? parse_integer(words[1], 1, 65535) : std::nullopt;
  const auto token = take_job_token();
  if (!port || !token) {
    throw option_error(std::string("dtlaunch ") + kFluxNode,
                       !port ? "not a host, a port and a job" : "DTL_TOKEN is not set",
                       "dtlaunch -launcher flux, which runs this by itself");
  }
  JoinCall call;
  call.token = *token;
  call.host = words[0];
  call.port = static_cast<int>(*port);
  call.hello.job = words[2];
  call.hello.name = own_host_name();
  return join_as_node(std::move(call), agent_path);
}

}  // namespace dtl
