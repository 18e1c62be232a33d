// Runs at each TAB, so it must be fast, print only the answer, and start nothing.
#include "launcher/run/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/doctor/ssh_config_check.h"
#include "launcher/doctor/ssh_config_files.h"
#include "launcher/options/foreign_options.h"
#include "launcher/options/help.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommand_options.h"
#include "launcher/options/subcommands.h"
#include "plan/request/hostfile.h"

namespace dtl {
namespace {

// Signals that have names, without SIG.
std::vector<std::string> signal_words() {
  std::vector<std::string> words;
  for (int signal = 1; signal < 32; ++signal) {
    const std::string name = signal_name(signal);
    if (name.starts_with("SIG")) words.push_back(name.substr(3));
  }
  return words;
}

CompletedOption described(const Option& option) {
  CompletedOption known = completed(option);
  // Its hosts are then offered for other options of the line.
  if (option.names.back() == "-hostfile") known.value = {Fill::kHostfile};
  // The table has only the word SIGNAL here.
  if (option.value == "SIGNAL") known.value = {Fill::kNothing, signal_words()};
  return known;
}

std::vector<CompletedOption> described(std::span<const Option> table) {
  std::vector<CompletedOption> options;
  for (const Option& option : table) options.push_back(described(option));
  return options;
}

// Other launchers' options with values. Known, so that their values are not taken for the program,
// but not offered: users should find our options.
std::vector<CompletedOption> foreign() {
  std::vector<CompletedOption> options;
  for (const ForeignOption& option : foreign_options()) {
    if (option.values == 0) continue;
    CompletedOption known;
    for (const std::string_view name : option.names) known.names.push_back(std::string(name));
    known.follows = option.values == 1 ? Follows::kValue : Follows::kTwoValues;
    if (option.kind == ForeignKind::kSame) {
      const Option* same =
          find_option(option_table().options(), option.text.substr(0, option.text.find('=')));
      if (same != nullptr) known.value = described(*same).value;
    }
    known.offered = false;
    options.push_back(std::move(known));
  }
  CompletedOption mca;
  for (const std::string_view name : mca_options()) mca.names.push_back(std::string(name));
  mca.follows = Follows::kTwoValues;
  mca.offered = false;
  options.push_back(std::move(mca));
  return options;
}

// Options after a ':' between the programs.
std::vector<CompletedOption> program_options() {
  std::vector<CompletedOption> options;
  for (const Option& option : option_table().options()) {
    if (option.traits.scope == Scope::kProgram) options.push_back(described(option));
  }
  return options;
}

bool takes_job(const std::string& subcommand) {
  // wants_job() knows only the commands of dtlaunch-jobs(1).
  constexpr std::string_view kOthers[] = {"push", "up", "down", "doctor", "kube", kSubmitCommand};
  return std::find(std::begin(kOthers), std::end(kOthers), subcommand) == std::end(kOthers) &&
         wants_job(subcommand);
}

// "help" is not in the table of commands, because it would hide a program with that name.
CompletedCommand help_command() {
  CompletedCommand command{"help", "show the options of a topic or of a command", {}, {}};
  for (const HelpTopic& topic : help_topics()) command.operand.words.emplace_back(topic.name);
  for (std::string& topic : file_topics()) command.operand.words.push_back(std::move(topic));
  for (const Subcommand& subcommand : subcommand_table()) {
    command.operand.words.emplace_back(subcommand.name);
  }
  return command;
}

using Words = std::vector<std::pair<std::string, std::string>>;

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

// Offers no host of a file that cannot be read, or that a job would refuse.
std::vector<Host> hosts_of_file(std::string path) {
  if (path.empty()) return {};
  // The shell passes words as they are typed.
  if (path.starts_with("~/")) path.replace(0, 1, home_folder());
  try {
    // Without the check of owner and mode: completion only offers the names and runs nothing.
    return parse_hostfile(read_file(path, kMaxHostfileBytes), path);
  } catch (const Error&) {
    return {};
  }
}

Words known_hosts(const std::string& hostfile) {
  Words words;
  std::set<std::string> seen;
  for (const Host& host : hosts_of_file(hostfile)) {
    if (seen.insert(host.name).second) words.emplace_back(host.name, "");
  }
  const ConfigText config = read_ssh_config_file(home_folder() + "/.ssh/config");
  for (const std::string& name : names_in_config(config, ssh_config_includes(home_folder()))) {
    if (seen.insert(name).second) words.emplace_back(name, "");
  }
  return words;
}

void add_job(const JobRecord& record, std::set<std::string>& seen, Words& words) {
  if (!seen.insert(record.job_id).second) return;
  // A command may be long and have any text; a shell shows one line for each job.
  const std::string state = record.state.empty() ? "running" : record.state;
  words.emplace_back(record.job_id, printable(fmt::format("{}: {:.60}", state, record.command)));
}

// The jobs that run here; with `kept`, also those whose output is kept here.
Words known_jobs(bool kept) {
  Words words;
  std::set<std::string> seen;
  for (const RecordFile& file : records_here()) {
    if (is_running(file.record.process)) add_job(file.record, seen, words);
  }
  std::error_code failed;
  if (!kept) return words;
  // Jobs that are over are not among the records of running jobs.
  for (const auto& folder : std::filesystem::directory_iterator(kept_jobs_folder(), failed)) {
    try {
      const auto record = parse_job_record(read_file(folder.path() / kKeptRecord, 1 << 20));
      if (record) add_job(*record, seen, words);
    } catch (const Error&) {  // without a record, the folder is not a job's
    }
  }
  return words;
}

Words find_words(Fill fill, const std::string& hostfile) {
  return fill == Fill::kHosts ? known_hosts(hostfile) : known_jobs(fill == Fill::kJob);
}

}  // namespace

std::string own_completion_answer(const std::vector<std::string>& words) {
  return completion_answer(own_completion(), words, find_words);
}

Completion own_completion() {
  Completion completion{"dtlaunch", true, {}};
  CompletedCommand job{"", "", described(option_table().options()), {Fill::kCommand}};
  const std::vector<CompletedOption> understood = foreign();
  job.options.insert(job.options.end(), understood.begin(), understood.end());
  completion.commands.push_back(std::move(job));
  for (const Subcommand& subcommand : subcommand_table()) {
    CompletedCommand command;
    command.name = subcommand.name;
    command.help = subcommand.summary;
    if (command.name == kSubmitCommand) {
      command.options = completion.commands.front().options;
      command.operand = {Fill::kCommand};
    } else {
      command.options = described(subcommand_options(command.name).options());
    }
    if (command.name == "kube") command.operand = {Fill::kNothing, {"render"}};
    if (takes_job(command.name)) {
      // A job that is over has nothing to kill, to ask or to watch.
      const bool running = command.name == "kill" || command.name == "cancel" ||
                           command.name == "ask" || command.name == "top";
      command.operand.fill = running ? Fill::kRunningJob : Fill::kJob;
    }
    completion.commands.push_back(std::move(command));
  }
  completion.commands.push_back(help_command());
  CompletedCommand next{":", "", program_options(), {Fill::kCommand}};
  next.options.insert(next.options.end(), understood.begin(), understood.end());
  completion.commands.push_back(std::move(next));
  return completion;
}

}  // namespace dtl
