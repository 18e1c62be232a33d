// A first word can be a hidden command, a subcommand, a misspelt subcommand, or a program.
// Subcommands win over programs of the same name; guesses do not.
#include "launcher/run/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/find_program.h"
#include "base/text.h"
#include "launcher/agents/agent_start.h"
#include "launcher/doctor/doctor.h"
#include "launcher/forecast/forecast_command.h"
#include "launcher/history/history_commands.h"
#include "launcher/jobs/jobs_commands.h"
#include "launcher/jobs/push_command.h"
#include "launcher/keep/kept_connection_commands.h"
#include "launcher/kube/kube_command.h"
#include "launcher/options/command_line.h"
#include "launcher/options/help.h"
#include "launcher/options/limits_text.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommands.h"
#include "launcher/options/trusted_file.h"
#include "launcher/request/facts_json.h"
#include "launcher/request/scheduler_job.h"
#include "launcher/run/completion.h"
#include "launcher/run/job_agents.h"
#include "launcher/run/libraries.h"
#include "launcher/run/names.h"
#include "launcher/run/run_job.h"
#include "launcher/schedulers/step_starters.h"
#include "launcher/step/agent_step.h"
#include "launcher/top/top_command.h"
#include "wire/messages.h"

namespace dtl {
namespace {

// For --show-scheduler.
SchedulerEvidence seen_evidence(const CommandLine& line) {
  const Surroundings around = asking_surroundings();
  return evidence_beside(read_job_inputs(line, around), around.environment);
}

// Runs a row of subcommand_table() except kSubmitCommand, whose line is a job's; the arguments are
// those after its name. Every row needs code here: a forgotten one fails at its first call.
int run_subcommand(const std::string& name, const std::vector<std::string>& arguments) {
  const StartOptions start = start_options(current_surroundings(), false);
  // "dtlaunch ps help": none of the commands has a job or a host list of that name.
  if (arguments == std::vector<std::string>{"help"}) return run_subcommand(name, {"--help"});
  if (name == "push") return run_push_command(arguments, start);
  for (const char* jobs_command :
       {"ps", "queue", "logs", "attach", "ask", "kill", "cancel", "clean"}) {
    if (name == jobs_command) return run_jobs_command(name, arguments, start);
  }
  if (name == "top") return run_top_command(arguments, current_surroundings().environment, start);
  if (name == "up" || name == "down") {
    return run_keep_command(name, arguments, start, find_scheduler_job);
  }
  if (name == "history" || name == "show") return run_history_command(name, arguments);
  if (name == "kube") return run_kube_command(arguments);
  if (name == "forecast") {
    const Surroundings around = asking_surroundings();
    return run_forecast(arguments, around, [&](bool accept_new) {
      return agent_starter(start_options(around, accept_new));
    });
  }
  if (name == "doctor") {
    const Surroundings around = asking_surroundings();
    // Doctor also starts agents in a scheduler's step. The step is known once doctor has read its
    // hosts; it is ended here.
    std::shared_ptr<AgentStep> step;
    const int status =
        run_doctor(arguments, around, [&](const JobSettings& settings, bool accept_new) {
          const StartOptions options = settings.scheduler == nullptr
                                           ? start_options(around, accept_new)
                                           : start_options(settings, around, accept_new);
          step = options.step;
          return agent_starter(options);
        });
    if (step) step->finish(status);
    return status;
  }
  throw std::logic_error(fmt::format("subcommand '{}' has no code", name));
}

bool is_program_here(const std::string& word, const Variables& environment) {
  // torchrun's scripts need not be executable.
  if (word.find('/') != word.npos || ::access(word.c_str(), F_OK) == 0) return true;
  const std::string* const path = find_variable(environment, "PATH");
  if (find_program(word, path == nullptr ? "" : *path)) return true;
  // Ranks search the folder of dtlaunch last: dttrain is there.
  return find_program(word, current_surroundings().program_directory).has_value();
}

// "doctr" would otherwise be started as a program on each host, and fail there. A short or unusual
// word stays a program: other hosts may have it.
void refuse_misspelt_command(const std::string& word) {
  const std::string meant = meant_subcommand(word);
  if (!meant.empty()) throw unknown_word(word, meant);
}

void notice_unknown_word(const std::string& word) {
  log_notice(unknown_word(word, similar_subcommand(word)).what());
}

// A first word that is a program of the hosts alone looks the same as a mistake. "--" says which.
void check_first_program(const CommandLine& line, const std::vector<std::string>& arguments,
                         const Variables& environment) {
  const std::vector<std::string>& command = line.programs[0].command;
  const bool said = std::find(arguments.begin(), arguments.end(), "--") != arguments.end();
  // An image has programs of its own.
  if (command.empty() || said || !line.container.empty()) return;
  if (is_program_here(command[0], environment)) return;
  // "dtlaunch --json history": after an option, the name of a command is one of a program.
  if (!line.given.empty() && is_subcommand(command[0])) {
    throw option_error(
        command[0],
        "a command of dtlaunch is the first word of its line, and no program here "
        "has this name",
        fmt::format("dtlaunch {0} --help, or -- {0} if it is a program of the hosts", command[0]));
  }
  if (!line.number_missing.empty())
    log_notice(missing_number_text(line.number_missing, command[0]));
}

// "help", "help ps" and "version", as in other programs; "help hosts" stays as it is. Not for words
// that are programs on this machine, so a program called help still starts.
std::vector<std::string> options_for_words(std::vector<std::string> words) {
  if (words[0] == "version") words[0] = "--version";
  if (words[0] != "help") return words;
  if (words.size() == 1) return {"--help"};
  if (words.size() > 2)
    throw option_error("help", "it takes one topic", "dtlaunch help " + words[1]);
  if (is_subcommand(words[1])) return {words[1], "--help"};
  return words;
}

// A job's facts as JSON are in its report.
void check_json(const CommandLine& line) {
  if (!line.json || line.dry_run) return;
  Error error = option_error("--json", "a job prints what its ranks print",
                             "--dry-run --json, or --report FILE");
  if (line.action == Action::kNames || line.action == Action::kCompletion) {
    error = option_error("--json",
                         "it goes with --dry-run, --version, --show-limits and --show-scheduler",
                         "the same command without it");
  } else if (line.action != Action::kRun) {
    return;
  }
  throw as_typed(error, line.given);
}

// The text to print instead of running a job; nullopt if the line asks for a job.
std::optional<std::string> asked_text(const CommandLine& line) {
  switch (line.action) {
    case Action::kHelp:
      return help_text();
    case Action::kHelpAll:
      return help_all_text();
    case Action::kVersion:
      if (line.json) return version_json(library_places(launcher_libraries()));
      return fmt::format("dtlaunch {}, protocol {}\n", DTL_VERSION, kProtocol) +
             (line.verbosity > 0 ? library_lines(launcher_libraries()) : "");
    case Action::kShowScheduler: {
      const SchedulerEvidence evidence = seen_evidence(line);
      return line.json ? scheduler_json(evidence) : evidence_text(evidence);
    }
    case Action::kShowLimits:
      return line.json ? limits_json(limit_facts()) : limits_text();
    case Action::kNames:
      return names_folder(current_surroundings().program_directory) + "\n";
    case Action::kCompletion:
      return completion_script("dtlaunch", line.shell);
    case Action::kRun:
      break;
  }
  return std::nullopt;
}

// Runs what the first word names: a hidden command, a subcommand or a help topic. Returns its
// status; nullopt: the words are a job, and `arguments` holds them.
std::optional<int> run_first_word(std::vector<std::string>& arguments,
                                  const Variables& environment) {
  // A word that is not an option and not a program here.
  const bool is_word = !arguments.empty() && !arguments[0].empty() && arguments[0][0] != '-' &&
                       !is_program_here(arguments[0], environment);
  if (is_word) arguments = options_for_words(std::move(arguments));
  // Called by the shells' completion scripts.
  if (!arguments.empty() && arguments[0] == kCompleteCommand) {
    write_all(STDOUT_FILENO, own_completion_answer({arguments.begin() + 1, arguments.end()}));
    return 0;
  }
  // Called by a scheduler's starter on each node; see step_node.h.
  for (const StepStarterRow& starter : step_starters()) {
    if (arguments.empty() || arguments[0] != starter.node_command) continue;
    return starter.run_node({arguments.begin() + 1, arguments.end()},
                            current_surroundings().program_directory + "/dtagent");
  }
  if (!arguments.empty() && is_subcommand(arguments[0]) && arguments[0] != kSubmitCommand) {
    const std::string& name = arguments[0];
    try {
      return run_subcommand(name, {arguments.begin() + 1, arguments.end()});
    } catch (const Error& error) {
      // "dtlaunch ps: --al: unknown option": whose option it is. "dtlaunch: kill: needs the id .."
      // says so by itself.
      const bool named = error.attempted() == name;
      if (error.status() == Exit::kUsage && !named) set_program_name("dtlaunch " + name);
      throw;
    }
  }
  if (is_word && arguments[0] == "help") {
    write_all(STDOUT_FILENO, help_topic_text(arguments[1]));
    return 0;
  }
  // After the hidden commands, whose names no program has. "help" has become --help.
  if (is_word && arguments[0] != kSubmitCommand && arguments[0][0] != '-') {
    refuse_misspelt_command(arguments[0]);
    // Other hosts may have it; but a single word is rather a command.
    if (arguments.size() == 1) notice_unknown_word(arguments[0]);
  }
  return std::nullopt;
}

// Removes "submit" from the front of a job's line; false if it is not there.
bool take_submit(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != kSubmitCommand) return false;
  arguments.erase(arguments.begin());
  if (arguments == std::vector<std::string>{"help"}) arguments = {"--help"};
  return true;
}

}  // namespace

int run_command(std::vector<std::string> arguments, CalledAs called) {
  const Variables environment = current_surroundings().environment;
  bool submits = false;
  // mpirun has no commands: "mpirun ps" starts the program ps.
  if (called == CalledAs::kDtlaunch) {
    if (const auto status = run_first_word(arguments, environment)) return *status;
    submits = take_submit(arguments);
  }
  CommandLine line = parse_command_line(arguments, environment, called);
  if (submits) {
    line.detach = line.placement.waits = true;
    line.given.push_back({"--detach", std::string(kSubmitCommand)});
    if (line.action == Action::kHelp) {
      write_all(STDOUT_FILENO, submit_help_text());
      return 0;
    }
  }
  if (called == CalledAs::kDtlaunch && line.action == Action::kRun) {
    check_first_program(line, arguments, environment);
  }
  if (!line.program_file.empty()) {
    // Like a hostfile, it decides what runs.
    const std::string text =
        read_trusted_file(line.program_file, kMaxHostfileBytes, "file of programs");
    add_program_file(line, text, line.program_file);
  }
  check_json(line);
  if (const auto text = asked_text(line)) {
    write_all(STDOUT_FILENO, *text);
    return 0;
  }
  if (line.verbosity == 1) set_log_level(LogLevel::kVerbose);
  if (line.verbosity > 1) set_log_level(LogLevel::kDebug);
  // Only for a job: --help and similar options print only their own text.
  for (const std::string& warning : line.warnings) log_notice(warning);
  if (line.verbosity > 0) {
    for (const std::string& note : line.notes) log_notice(note);
  }
  return run_job(line);
}

}  // namespace dtl
