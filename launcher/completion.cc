#include "launcher/completion.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "base/text.h"
#include "launcher/options/foreign_options.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommand_options.h"
#include "launcher/options/subcommands.h"

namespace dtl {
namespace {

// Those that have names of their own, without SIG.
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
  if (option.names.back() == "-hostfile") known.value = {Fill::kHostfile};
  if (option.value == "SIGNAL") known.value = {Fill::kNothing, signal_words()};
  return known;
}

std::vector<CompletedOption> described(std::span<const Option> table) {
  std::vector<CompletedOption> options;
  for (const Option& option : table) options.push_back(described(option));
  return options;
}

// Other launchers' options that values follow: understood, so that those are taken for no program.
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

// What may stand behind a ':' among the programs.
std::vector<CompletedOption> program_options() {
  std::vector<CompletedOption> options;
  for (const Option& option : option_table().options()) {
    if (option.traits.scope == Scope::kProgram) options.push_back(described(option));
  }
  return options;
}

bool takes_job(const std::string& subcommand) {
  constexpr std::string_view kOthers[] = {"push", "up", "down", "doctor", "kube"};
  return std::find(std::begin(kOthers), std::end(kOthers), subcommand) == std::end(kOthers) &&
         wants_job(subcommand);
}

}  // namespace

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
    command.options = described(subcommand_options(command.name).options());
    if (command.name == "kube") command.operand = {Fill::kNothing, {"render"}};
    if (takes_job(command.name)) {
      // There is nothing to kill in a job that is over.
      command.operand.fill = command.name == "kill" ? Fill::kRunningJob : Fill::kJob;
    }
    completion.commands.push_back(std::move(command));
  }
  CompletedCommand next{":", "", program_options(), {Fill::kCommand}};
  next.options.insert(next.options.end(), understood.begin(), understood.end());
  completion.commands.push_back(std::move(next));
  return completion;
}

}  // namespace dtl
