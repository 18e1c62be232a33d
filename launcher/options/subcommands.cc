// The order is that of --help.
#include "launcher/options/subcommands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace dtl {

std::span<const Subcommand> subcommand_table() {
  static const std::vector<Subcommand> kTable = {
      {"doctor", "check hosts: what would stop a job, and the fix"},
      {"forecast", "forecast the speed-up of a training on N nodes"},
      {"push", "copy dtagent and dttrain to hosts"},
      {"submit", "start a job in the background, or let it wait in line"},
      {"queue", "show the jobs that wait for cores, and for whom"},
      {"cancel", "end a job that waits in line"},
      {"ps", "list the jobs of this machine or of hosts"},
      {"history", "list earlier jobs of this machine"},
      {"show", "show what happened to a job, now or later"},
      {"logs", "show the output of a job started with --detach"},
      {"attach", "follow a job; exits with its status"},
      {"top", "watch jobs: ranks, training, who waits for whom"},
      {"ask", "show what each rank of a running job does, with stacks"},
      {"kill", "end a job, or send it a signal"},
      {"clean", "end processes and remove files that dead jobs left"},
      {"up", "keep connections to hosts open, for faster starts"},
      {"down", "close the connections of dtlaunch up"},
      {"kube", "print a manifest for Kubernetes: kube render"},
  };
  return kTable;
}

bool is_subcommand(std::string_view word) {
  const auto table = subcommand_table();
  return std::any_of(table.begin(), table.end(),
                     [&](const Subcommand& subcommand) { return subcommand.name == word; });
}

std::string summary_sentence(const Subcommand& subcommand) {
  std::string text(subcommand.summary);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".\n";
}

std::string meant_subcommand(std::string_view word) {
  // Words of other programs that start, list and end jobs, or show stacks: systemctl, docker,
  // squeue, qdel, pstack.
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"status", "ps"},    {"list", "ps"},       {"ls", "ps"},          {"jobs", "ps"},
      {"htop", "top"},     {"stop", "kill"},     {"end", "kill"},       {"log", "logs"},
      {"tail", "logs"},    {"cleanup", "clean"}, {"check", "doctor"},   {"sbatch", "submit"},
      {"qsub", "submit"},  {"bsub", "submit"},   {"squeue", "queue"},   {"qstat", "queue"},
      {"bjobs", "queue"},  {"line", "queue"},    {"scancel", "cancel"}, {"qdel", "cancel"},
      {"bkill", "cancel"}, {"stacks", "ask"},    {"stack", "ask"},      {"pstack", "ask"},
      {"dump", "ask"},     {"py-spy", "ask"}};
  // By meaning first; nearest() compares only letters.
  for (const auto& [theirs, ours] : kOthers) {
    if (word == theirs) return std::string(ours);
  }
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommand_table()) names.emplace_back(subcommand.name);
  names.emplace_back("help");
  // With two letters, half of all programs would be close to ps and up. With three, at least the
  // first one has to be right.
  std::string near = word.size() < 3 ? std::string() : nearest(word, names);
  if (word.size() == 3 && !near.empty() && near[0] != word[0]) near.clear();
  return near;
}

std::string similar_subcommand(std::string_view word) {
  for (const Subcommand& subcommand : subcommand_table()) {
    const std::string_view name = subcommand.name;
    if (word.size() > 1 && (word.starts_with(name) || name.starts_with(word))) {
      return std::string(name);
    }
  }
  return {};
}

Error unknown_word(const std::string& word, const std::string& near) {
  const std::string typed = one_shell_word(word);
  return option_error(
      typed, "dtlaunch has no such command, and no program here has this name",
      near.empty() ? "dtlaunch help"
                   : fmt::format("dtlaunch {}, or dtlaunch -- {} if it is a program of the hosts",
                                 near, typed));
}

std::string missing_number_text(const std::string& option, const std::string& program) {
  const std::string typed = one_shell_word(program);
  return message_text(
      fmt::format("{} {}", option, typed),
      "this word is not a number, so it is the program, and it is not a program here",
      fmt::format("{0}=NUMBER PROGRAM, or {0} -- {1} if it is a program of the hosts", option,
                  typed));
}

}  // namespace dtl
