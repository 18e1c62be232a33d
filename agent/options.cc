#include "agent/options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dtl {
namespace {

struct Option {
  std::string_view name;
  std::string_view value;
  std::string_view help;  // one or more lines
};

constexpr std::array kOptions{
    Option{"--stdio", "",
           "serve one launcher on standard input and output, through this\n"
           "user's service where there is one"},
    Option{"--serve", "", "the same, and never through the service"},
    Option{"--idle", "", "the same, and wait for the launcher for as long as it takes"},
    Option{"--service", "", "wait for launchers on a unix socket of this user"},
    Option{"--allow-root", "", "with --service: even as root"},
    Option{"--bridge", "", "join standard input and output with the service"},
    Option{"--jobs", "", "list the records of this user's jobs on this node"},
    Option{"--log", "JOB", "print what a job that was launched here has said so far"},
    Option{"--follow", "", "with --log: go on until the job is over"},
    Option{"--from-end", "", "with --log: leave out what is there already"},
    Option{"--end", "JOB SIGNAL", "send a signal to a job's launcher here, or end its agents"},
    Option{"--clean", "", "end what dead jobs left on this node, and remove their files"},
    Option{"--receive", "NAME FILE:BYTES:SHA256 ...",
           "take the programs that dtlaunch --push sends"},
    Option{"--completion", kShells, "show the shell's script that completes command lines"},
    Option{"--help", "", "show this text"},
    Option{"--version", "", "show the version and the number of the protocol"},
    Option{"-v", "", "with --version: the libraries inside, too"},
};

constexpr std::size_t kHelpColumn = 16;

}  // namespace

std::string help_text() {
  std::string text =
      "usage: dtagent --stdio | --service | --bridge | --help | --version\n"
      "\n"
      "The part of dtlaunch that runs on every node. dtlaunch starts it.\n"
      "\n";
  const std::string indent(kHelpColumn, ' ');
  for (const Option& option : kOptions) {
    std::string left = "  " + std::string(option.name);
    if (!option.value.empty()) left += " " + std::string(option.value);
    if (left.size() + 2 > kHelpColumn) {
      left += "\n" + indent;
    } else {
      left.resize(kHelpColumn, ' ');
    }
    text += left;
    for (const char c : option.help) {
      text += c;
      if (c == '\n') text += indent;
    }
    text += '\n';
  }
  return text;
}

Completion own_completion() {
  CompletedCommand agent;
  for (const Option& row : kOptions) {
    CompletedOption option{{std::string(row.name)}, std::string(row.help)};
    std::replace(option.help.begin(), option.help.end(), '\n', ' ');
    if (!row.value.empty()) {
      const bool two = row.value.find(' ') != row.value.npos;
      option.follows = two ? Follows::kTwoValues : Follows::kValue;
      option.value = value_of_column(row.value.substr(0, row.value.find(' ')));
    }
    agent.options.push_back(std::move(option));
  }
  return {"dtagent", false, {std::move(agent)}};
}

}  // namespace dtl
