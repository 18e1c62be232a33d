// Most options exclude each other, so the rows do not say with which others they combine:
// check_asked_once() counts them after parsing, and kAdditions has the few that add to another one.
#include "agent/options.h"

#include <algorithm>
#include <array>

#include "base/options/option_table.h"
#include "base/text.h"

namespace dtl {
namespace {

using A = AgentOptions;

constexpr const char* kHelp = "dtagent --help";

const OptionTable<A>& agent_table() {
  // Each row stays on one line.
  // clang-format off
  static const OptionTable<A> kTable(std::vector<OptionRow<A>>{
      {"", {"--stdio"}, "", "serve one launcher on standard input and output, through this\n"
       "user's service where there is one", into::flag<&A::stdio>()},
      {"", {"--serve"}, "", "the same, and never through the service", into::flag<&A::serve>()},
      {"", {"--unsignalled"}, "", "with --serve or --idle: leave signals to whoever has started it",
       into::flag<&A::unsignalled>()},
      {"", {"--child"}, "", "with --serve: the launcher is what has started it",
       into::flag<&A::child>()},
      {"", {"--input"}, "", "with --serve: descriptor 3 is the launcher's standard input, for its\n"
       "ranks", into::flag<&A::input>()},
      {"", {"--idle"}, "", "--stdio, and wait for the launcher for as long as it takes",
       into::flag<&A::idle>()},
      {"", {"--service"}, "", "wait for launchers on a unix socket of this user",
       into::flag<&A::service>()},
      {"", {"--allow-root"}, "", "with --service: even as root", into::flag<&A::allow_root>()},
      {"", {"--bridge"}, "", "join standard input and output with the service",
       into::flag<&A::bridge>()},
      {"", {"--rejoin"}, "LINK", "join standard input and output with an agent that has lost its\n"
       "launcher, for that launcher", into::text<&A::rejoin>()},
      {"", {"--jobs"}, "", "list the records of this user's jobs here", into::flag<&A::jobs>()},
      {"", {"--cores"}, "", "list the cores here that jobs of all users have", into::flag<&A::cores>()},
      {"", {"--ask"}, "JOB", "show what the ranks of a running job do on this node",
       into::text<&A::ask>()},
      {"", {"--native"}, "", "with --ask: also ask a debugger, which stops each rank briefly",
       into::flag<&A::native>()},
      {"", {"--watch"}, "JOB PERIOD", "the same again and again; JOB: or all", into::text<&A::watch>()},
      {"", {"--log"}, "JOB", "print the output of a job that was launched here",
       into::text<&A::log_of>()},
      {"", {"--follow"}, "", "with --log: continue until the job ends", into::flag<&A::follow>()},
      {"", {"--from-end"}, "", "with --log: leave out what is there already",
       into::flag<&A::from_end>()},
      {"", {"--after"}, "PLACE", "with --log: only what comes after that place",
       into::text<&A::after>()},
      {"", {"--end"}, "JOB SIGNAL", "send a signal to a job's launcher here, or end its agents",
       into::text<&A::end>()},
      {"", {"--clean"}, "", "end what dead jobs left on this node, and remove their files",
       into::flag<&A::clean>()},
      {"", {"--clean-job"}, "JOB", "end what one dead job left on this node, for its launcher",
       into::text<&A::clean_job>()},
      {"", {"--sweep"}, "", "the same for what killed launchers and agents left, before another job",
       into::flag<&A::sweep>()},
      {"", {"--fence"}, "JOB", "end a job's agents and all of its processes on this node",
       into::text<&A::fence>()},
      {"", {"--hold"}, "", "be a container's only program", into::flag<&A::hold>()},
      {"", {"--receive"}, "NAME FILE:BYTES:SHA256 ...", "take the programs of dtlaunch --push",
       into::text<&A::receive>(), {.last = true}},
      {"", {"--completion"}, kShells, "print a shell's completion script", into::text<&A::shell>()},
      {"", {"--receive-folder"}, "", "take a folder of dtlaunch --sync or --venv",
       into::flag<&A::receive_folder>()},
      {"", {"--help"}, "", "show this text", into::flag<&A::help>()},
      {"", {"--version"}, "", "show the version and the number of the protocol",
       into::flag<&A::version>()},
      {"", {"-v"}, "", "with --version: also the libraries inside", into::flag<&A::verbose>()},
  });
  // clang-format on
  return kTable;
}

// Options that do nothing alone, each with the one or two that it may be added to.
struct Addition {
  std::string_view option, to, or_to = {};
};
constexpr std::array kAdditions{Addition{"--allow-root", "--service"},
                                Addition{"--unsignalled", "--serve", "--idle"},
                                Addition{"--child", "--serve"},
                                Addition{"--input", "--serve"},
                                Addition{"--native", "--ask"},
                                Addition{"--follow", "--log"},
                                Addition{"--from-end", "--log"},
                                Addition{"--after", "--log"},
                                Addition{"-v", "--version"}};

void check_asked_once(const OptionWords& words, const std::vector<std::string>& arguments) {
  std::size_t asked = 0;
  bool fits = true;
  for (const GivenOption& given : words.options) {
    const std::string_view name = given.option->names.back();
    const auto added = std::find_if(kAdditions.begin(), kAdditions.end(),
                                    [&](const Addition& each) { return each.option == name; });
    if (added == kAdditions.end()) {
      ++asked;
    } else {
      fits &= words.has(added->to) || (!added->or_to.empty() && words.has(added->or_to));
    }
  }
  // Few options take words after their value: --receive its files, --end a signal number, --watch a
  // period.
  const bool takes_one = words.has("--end") || words.has("--watch");
  fits &= words.has("--receive") || words.rest.size() == (takes_one ? 1U : 0U);
  if (asked == 1 && fits) return;
  if (arguments.empty()) throw Error(Exit::kUsage, "no option given", "", kHelp);
  throw Error(Exit::kUsage, join(arguments, " "), "these do not go together", kHelp);
}

}  // namespace

AgentOptions parse_agent_options(const std::vector<std::string>& arguments) {
  const Manner manner{.help = kHelp};
  OptionWords words = read_option_words(agent_table().options(), arguments, manner);
  AgentOptions options;
  agent_table().apply(words.options, options, kHelp);
  check_asked_once(words, arguments);
  options.words = std::move(words.rest);
  return options;
}

std::string help_text() {
  return "usage: dtagent --stdio | --service | --bridge | --help | --version\n"
         "\n"
         "The part of dtlaunch that runs on every node. dtlaunch starts it.\n"
         "\n" +
         options_text(agent_table().options(), {.column = 16});
}

Completion own_completion() {
  CompletedCommand agent;
  agent.options = completed(agent_table().options());
  return {"dtagent", false, {std::move(agent)}};
}

}  // namespace dtl
