// The programs differ only in how they name a node.
#include "launcher/schedulers/task_starter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/schedulers/job_token.h"
#include "launcher/schedulers/step_node.h"
#include "plan/schedulers/pbs.h"

namespace dtl {
namespace {

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The first option that tasks do not support, with the reason; empty: none.
std::pair<std::string, std::string> refused_by_tasks(const CommandLine& line) {
  if (line.starting.push) return {"--push", "PBS does not copy files to hosts"};
  if (line.ending.reconnect.count() > 0) {
    return {"--reconnect", "a task of PBS is not logged in to again once it is lost"};
  }
  return {};
}

}  // namespace

std::vector<std::string> to_words(const TaskNodeWords& told) {
  return {told.host, std::to_string(told.port), told.job, told.node, told.token_file};
}

std::optional<TaskNodeWords> parse_task_node_words(const std::vector<std::string>& words) {
  if (words.size() != 5) return std::nullopt;
  const auto port = parse_integer(words[1], 1, 65535);
  if (!port || words[0].empty() || !words[4].starts_with('/')) return std::nullopt;
  return TaskNodeWords{words[0], static_cast<int>(*port), words[2], words[3], words[4]};
}

std::vector<std::string> task_arguments(const std::string& program, const std::string& node,
                                        int line, const std::vector<std::string>& command) {
  std::vector<std::string> words = {program};
  if (last_part(program) == "pbsdsh") {
    // By line and not by -h: only Torque has -h, and it compares with uname -n.
    words.insert(words.end(), {"-n", std::to_string(line), "--"});
  } else {
    words.push_back(node);
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string TaskStarter::program() const {
  return last_part(options_.program);
}

StarterCommands TaskStarter::commands(const std::vector<std::string>& nodes, int port,
                                      const std::string& token) {
  StarterCommands made;
  made.environment = entries_of(options_.environment);
  TaskNodeWords told;
  told.host = options_.meeting_host;
  told.port = port;
  told.job = options_.job;
  told.token_file = options_.given_token_file;
  // Written again at each start of the step, which removes the previous file.
  if (told.token_file.empty()) {
    told.token_file = token_file_.write(shared_folders(options_.environment), token);
  }
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    told.node = nodes[at];
    std::vector<std::string> command = options_.command;
    // Each node has its own command, which has its name.
    for (std::string& word : to_words(told)) command.push_back(std::move(word));
    made.commands.push_back(
        task_arguments(options_.program, nodes[at], options_.lines[at], command));
  }
  return made;
}

std::string TaskStarter::hint(const Host& host) const {
  return fmt::format(
      "see what dtlaunch has said on {}, in the job's error output; or -launcher ssh", host.name);
}

std::optional<StepPlan> plan_tasks(const CommandLine& line, const SchedulerEvidence& evidence,
                                   const Variables& environment,
                                   std::vector<std::string>& notices) {
  constexpr std::string_view kBySsh = "agents start over ssh, outside of what PBS counts and ends";
  const Starter& starter = *kPbs.starter;
  const bool asked = line.starting.agent_start && line.starting.agent_start->starter == &starter;
  const auto which = asked ? line.starting.agent_start->program : std::nullopt;
  if (line.starting.agent_start && !asked) return std::nullopt;
  const auto program = find_starter_program(starter, which, evidence, environment);
  // An option that tasks do not support is an error only if -launcher asks for tasks. Otherwise
  // ssh, which supports it, replaces them, with a notice.
  const auto [option, reason] = refused_by_tasks(line);
  if (asked && !program) {
    throw Error(Exit::kConfig, "-launcher", no_starter_program(starter, which),
                "PATH=/opt/pbs/bin:$PATH, or -launcher ssh, where PBS allows that");
  }
  if (asked && !option.empty()) {
    throw option_error(option, reason,
                       "the same command without it, or -launcher ssh where PBS allows that");
  }
  const bool has_others = std::any_of(evidence.hosts.begin(), evidence.hosts.end(),
                                      [](const Host& host) { return !host.here; });
  // This host alone: its agent is a child of dtlaunch.
  if (!has_others && !asked) return std::nullopt;
  if (!program || !option.empty()) {
    notices.push_back(!program ? fmt::format("{}: {}", no_starter_program(starter, which), kBySsh)
                               : fmt::format("{}: {}: {}", option, reason, kBySsh));
    return std::nullopt;
  }
  StepPlan step;
  step.by = &starter;
  step.program = *program;
  step.job = evidence.job_id;
  step.nodes = evidence.hosts;
  step.lines = evidence.host_lines;
  step.only = asked;
  step.meeting_host = own_host_name();
  for (const Host& host : evidence.hosts) {
    // The name in PBS_NODEFILE is safer than the host's own: the other nodes resolve it.
    if (host.here) step.meeting_host = host.name;
  }
  return step;
}

std::unique_ptr<StepStarter> make_task_starter(const StepPlan& plan, const Surroundings& around) {
  TaskStarterOptions options;
  options.program = plan.program;
  options.lines = plan.lines;
  options.command = {around.program_directory + "/dtlaunch", kTaskNode};
  options.meeting_host = plan.meeting_host;
  options.job = plan.job;
  options.environment = around.environment;
  if (const std::string file = job_token_file(); !file.empty()) {
    options.given_token_file = file.starts_with('/') ? file : around.working_directory + "/" + file;
  }
  return std::make_unique<TaskStarter>(std::move(options));
}

int run_task_node(const std::vector<std::string>& words, const std::string& agent_path) {
  const auto told = parse_task_node_words(words);
  if (!told) {
    throw option_error(std::string("dtlaunch ") + kTaskNode, "needs five words",
                       "dtlaunch -launcher pbs, which runs this by itself");
  }
  // The token is in the file; ranks must not inherit this one.
  take_variable("DTL_TOKEN");  // from qsub -V
  JoinCall call;
  call.token = read_token_in(told->token_file, told->node);
  call.host = told->host;
  call.port = told->port;
  call.hello.job = told->job;
  call.hello.name = told->node;
  try {
    return join_as_node(std::move(call), agent_path);
  } catch (const Error& error) {
    // Its writer has ended, and no node needs it any more.
    if (error.status() == Exit::kTimeout && is_token_file(told->token_file)) {
      ::unlink(told->token_file.c_str());
    }
    throw error.with_context(told->node);
  }
}

}  // namespace dtl
