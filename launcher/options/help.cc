// Nothing here repeats what a row of a table says, so the texts cannot contradict it.
#include "launcher/options/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommands.h"

namespace dtl {
namespace {

constexpr HelpTopic kTopics[] = {
    {"hosts", "Where to run", "hosts, how many ranks, networks, ssh, schedulers"},
    {"programs", "What to run", "programs, MPI, the job file, environment variables, folders"},
    {"pinning", "How to pin ranks", "which CPUs and memory each rank gets"},
    {"output", "How to watch it", "labels, files, reports, jobs in the background"},
    {"ending", "How it ends", "timeouts, hanging ranks, restarts, lost hosts, spot hosts"},
    {"about", "About dtlaunch", "version, limits, shell completion"},
};

// What most command lines need, by the canonical name of the row. --help shows only these: a screen
// has room for ten options.
constexpr std::string_view kCommon[] = {"-hostfile", "-hosts",        "-np",           "-ppn",
                                        "-genv",     "-bind-to",      "-prepend-rank", "--dry-run",
                                        "--wait",    "--max-restarts"};

constexpr std::string_view kUsage =
    "usage: dtlaunch [options] program [argument ...] [: [options] program ...]\n"
    "       dtlaunch COMMAND [options]\n";

std::string commands_text() {
  std::string text = "\nCommands\n";
  for (const Subcommand& subcommand : subcommand_table()) {
    text += fmt::format("  dtlaunch {:<12} {}\n", subcommand.name, subcommand.summary);
  }
  return text;
}

std::vector<Option> common_options() {
  std::vector<Option> common;
  for (const std::string_view name : kCommon) {
    common.push_back(*find_option(option_table().options(), name, Spelling::kExact));
    common.back().group = "Most used options";
  }
  return common;
}

std::string topic_names() {
  std::vector<std::string> names;
  for (const HelpTopic& topic : kTopics) names.emplace_back(topic.name);
  return join(names, ", ");
}

constexpr std::string_view kHostfile =
    "hostfile: The hosts of a job: dtlaunch -f FILE; dtlaunch-hostfile(5)\n"
    "\n"
    "  # a comment\n"
    "  node01                 # as many ranks as it has physical cores\n"
    "  node02 slots=4         # or node02:4\n"
    "  node[03-06]            # node03, node04, node05, node06\n"
    "  node07 user=ann port=2222 addr=10.0.0.7\n"
    "  ^node05                # leave this host out\n";

constexpr std::string_view kJobFile =
    "job-file: A job as a file: dtlaunch -c FILE; without a program: ./dtlaunch.toml;\n"
    "dtlaunch.toml(5)\n"
    "\n"
    "  program = \"python3\"\n"
    "  arguments = [\"train.py\", \"--epochs\", \"3\"]\n"
    "  ranks = 8\n"
    "  [environment]\n"
    "  OMP_NUM_THREADS = \"4\"\n"
    "  [hosts]\n"
    "  list = [\"node01\", \"node02:4\"]\n"
    "\n"
    "Keys that are options\n";

std::string job_file_text() {
  constexpr std::size_t kColumn = 26;  // the longest key fits
  std::string text(kJobFile);
  for (const Option& option : option_table().options()) {
    if (option.traits.key.empty()) continue;
    text += fmt::format("  {:<{}}like {}\n", option.traits.key, kColumn, option.names.back());
  }
  return text +
         "\nOther keys\n"
         "  program, arguments, environment, inherit, hosts.list, pinning.enabled,\n"
         "  pinning.threads, [[programs]], [trainer]\n";
}

}  // namespace

std::span<const HelpTopic> help_topics() {
  return kTopics;
}

std::vector<std::string> file_topics() {
  return {"hostfile", "job-file"};
}

std::string help_command(const Option& option) {
  for (const std::string_view common : kCommon) {
    if (option.names.back() == common) return "dtlaunch --help";
  }
  for (const HelpTopic& topic : kTopics) {
    if (topic.group == option.group) return fmt::format("dtlaunch help {}", topic.name);
  }
  return "dtlaunch --help-all";
}

std::string help_text() {
  std::string text(kUsage);
  text +=
      "Starts the ranks of a program on one or many hosts, pins them to cores, and ends\n"
      "them together. Without a program: the job file ./dtlaunch.toml, or a short demo.\n";
  text += options_text(common_options()) + commands_text();
  text +=
      "\nExample: dtlaunch -f hosts -np 4 -ppn 2 python3 train.py\n"
      "\nMore help\n"
      "  dtlaunch help TOPIC    ";
  text += topic_names() + ",\n                         " + join(file_topics(), ", ") +
          ", or a command\n"
          "  dtlaunch --help-all    all options; man dtlaunch: the whole manual\n";
  return text;
}

std::string help_all_text() {
  std::string text(kUsage);
  text += "Options precede the program, with one or two dashes; -option=value works too.\n";
  text += options_text(option_table().options()) + commands_text();
  text += "A command's name always means the command; dtlaunch -- ps runs a program ps.\n";
  return text;
}

std::string submit_help_text() {
  std::string text = "usage: dtlaunch submit [options] program [argument ...] [: [options] ...]\n";
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == kSubmitCommand) text += summary_sentence(subcommand);
  }
  text +=
      "The same as dtlaunch --detach --wait: prints the job's id, and returns once the\n"
      "job runs, or waits for cores of other jobs. It takes all options of dtlaunch.\n";
  text += options_text(common_options());
  return text +
         "\nMore help\n"
         "  dtlaunch --help-all     all options\n"
         "  man dtlaunch-queue      the waiting line\n";
}

std::string help_topic_text(const std::string& word) {
  std::vector<std::string> known;
  for (const HelpTopic& topic : kTopics) {
    known.emplace_back(topic.name);
    if (topic.name != word) continue;
    std::vector<Option> options;
    for (const Option& option : option_table().options()) {
      if (option.group == topic.group) options.push_back(option);
    }
    return fmt::format("{}: {}\n", topic.name, topic.summary) + options_text(options);
  }
  if (word == "hostfile") return std::string(kHostfile);
  if (word == "job-file") return job_file_text();
  for (std::string& topic : file_topics()) known.push_back(std::move(topic));
  for (const Subcommand& subcommand : subcommand_table()) known.emplace_back(subcommand.name);
  if (word == "mpi" || word == "pmi") {
    throw option_error("help " + word, "MPI programs need no options; --pmi is one for programs",
                       "dtlaunch help programs, or man dtlaunch-mpi");
  }
  // The other programs have a --help of their own.
  for (const std::string_view program : {"dttrain", "dtagent", "dtring-perf"}) {
    if (word != program) continue;
    throw option_error("help " + word, "a program of its own", word + " --help");
  }
  const std::string near = nearest(word, known);
  throw option_error("help " + one_shell_word(word),
                     fmt::format("the topics are {}, {}, and the commands", topic_names(),
                                 join(file_topics(), ", ")),
                     near.empty() ? "dtlaunch --help" : "dtlaunch help " + near);
}

}  // namespace dtl
