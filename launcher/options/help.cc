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
    {"programs", "What to run", "programs, the job file, environment variables, folders"},
    {"pinning", "How to pin ranks", "which CPUs and memory each rank gets"},
    {"output", "How to watch it", "labels, files, reports, jobs in the background"},
    {"ending", "How it ends", "timeouts, hanging ranks, restarts, lost hosts, spot hosts"},
    {"about", "About dtlaunch", "version, limits, shell completion"},
};

// What most command lines need, by the canonical name of the row. --help shows only these: a screen
// has room for ten options.
constexpr std::string_view kCommon[] = {"-hostfile", "-hosts",        "-np",           "-ppn",
                                        "-genv",     "-bind-to",      "-prepend-rank", "--dry-run",
                                        "--detach",  "--max-restarts"};

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

}  // namespace

std::span<const HelpTopic> help_topics() {
  return kTopics;
}

std::string help_text() {
  std::string text(kUsage);
  text +=
      "Starts the ranks of a program on one or many hosts, pins them to cores, and ends\n"
      "all of them together. Without a program it runs the job file ./dtlaunch.toml, or\n"
      "a short demonstration. Options come before the program, with one or two dashes.\n";
  text += options_text(common_options()) + commands_text();
  text +=
      "\nExamples\n"
      "  dtlaunch -np 2 -l hostname                    two ranks on this machine\n"
      "  dtlaunch -f hosts -np 4 -ppn 2 python3 train.py\n"
      "\nMore help\n"
      "  dtlaunch help TOPIC    topics: ";
  text += topic_names();
  text +=
      "\n"
      "  dtlaunch help COMMAND  its options\n"
      "  dtlaunch --help-all    all options\n"
      "  man dtlaunch           the whole manual\n";
  return text;
}

std::string help_all_text() {
  std::string text(kUsage);
  text += "Options precede the program, with one or two dashes; -option=value works too.\n";
  text += options_text(option_table().options()) + commands_text();
  text += "A command's name always means the command; dtlaunch -- ps runs a program ps.\n";
  return text;
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
  for (const Subcommand& subcommand : subcommand_table()) known.emplace_back(subcommand.name);
  const std::string near = nearest(word, known);
  throw option_error("help " + printable(word),
                     "the topics are " + topic_names() + ", and the commands",
                     near.empty() ? "dtlaunch --help" : "dtlaunch help " + near);
}

}  // namespace dtl
