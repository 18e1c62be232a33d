// How to watch a job and how it ends: the second half of the table. A row is a section, the names,
// the value, the help, where the value goes, and traits such as the job file's key. The last of the
// names is the canonical one.
#include "launcher/options/option_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "base/limits.h"
#include "base/options/completion.h"
#include "base/text.h"
#include "launcher/options/option_values.h"

namespace dtl {
namespace {

using B = BlockOptions;

constexpr std::string_view kWatch = "How to watch it";
constexpr std::string_view kEnd = "How it ends";
constexpr std::string_view kAbout = "About dtlaunch";

constexpr int kMaxRestarts = 10'000;
constexpr double kMaxSeconds = 366.0 * 24 * 3600;
// The record of a job holds all of them in one line of 4096 bytes.
constexpr std::size_t kMaxTagBytes = 64, kMaxTags = 32;
constexpr double kMostReconnect =
    24.0 * 3600;  // ranks that nobody hears of for longer are forgotten

// A number of seconds, fractions included. Kept in milliseconds, which the clocks of a job count.
template <auto... Members>
Target<B> seconds(double low, double high = kMaxSeconds) {
  return {Takes::kValue,
          [low, high](B& block, const std::string& text, const Option&) -> std::string {
            double value = 0;
            if (!read_real(text, low, high, value).empty()) {
              return fmt::format("'{}' is no number of seconds from {} to {}", text, low, high);
            }
            place<Members...>(block) = std::chrono::milliseconds(std::llround(value * 1000));
            return {};
          }};
}

// The shell runs it later; whether its program may be run at all is checked in launcher/request.
Target<B> shell_command() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            if (trim(text).empty()) return "an empty command does not hear of anything";
            block.line.reporting.on_event = text;
            return {};
          }};
}

bool is_ascii_word(unsigned char sign) {
  return sign < 128 && std::isalnum(sign) != 0;
}

// Names stand in tables, in JSON and between commas: no blanks, commas or quotes. A dash in front
// would be an option that lacks its value.
void check_tag(const std::string& name) {
  constexpr std::string_view kSigns = "._:/@+=-";
  const auto refuse = [](const std::string& reason) {
    throw Error(Exit::kUsage, "--tag", reason, "--tag nightly,run=7");
  };
  if (name.empty()) refuse("there is no name before or after a comma");
  if (name.size() > kMaxTagBytes) {
    refuse(fmt::format("'{}' has {} characters; a tag has up to {}", printable(name), name.size(),
                       kMaxTagBytes));
  }
  const bool fits =
      is_ascii_word(name.front()) && std::all_of(name.begin(), name.end(), [&](char sign) {
        return is_ascii_word(sign) || kSigns.find(sign) != kSigns.npos;
      });
  if (fits) return;
  refuse(fmt::format("'{}' is not a tag: a-z, A-Z, 0-9 and \"{}\", a letter or digit first",
                     printable(name), kSigns));
}

Target<B> tags() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            // --tag may be given several times, and the job file has a list: all are added, each
            // name once.
            std::vector<std::string>& tags = block.line.reporting.tags;
            for (const std::string& name : split(text, ',')) {
              check_tag(name);
              if (std::find(tags.begin(), tags.end(), name) == tags.end()) tags.push_back(name);
            }
            return tags.size() > kMaxTags ? fmt::format("a job has up to {} tags", kMaxTags)
                                          : std::string();
          }};
}

// A row is read as one.
// clang-format off
OptionRows watch_options() {
  return {
      {kWatch, {"-l", "-prepend-rank"}, "", "put [rank] before every line",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::prepend_rank>(), {.key = "label"}},
      {kWatch, {"-prepend-pattern"}, "TEXT", "the same with %r rank, %g program, %p pid, %h host,\n"
       "%t time", into::text<&B::line, &CommandLine::shown, &OutputChoice::pattern>()},
      {kWatch, {"--tag-output"}, "", "the same as [1,rank]<stdout>:",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::tag>()},
      {kWatch, {"--timestamp-output"}, "", "put the date before every line",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::time>()},
      {kWatch, {"--only"}, "RANKS", "show these alone: 0,3-5; or none",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::only>()},
      {kWatch, {"--color"}, "auto|always|never", "of labels",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::color>()},
      {kWatch, {"--fold"}, "", "one line [0-7] for the same line of many ranks",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::fold>()},
      {kWatch, {"--no-fold"}, "", "not so on a terminal, either",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::no_fold>()},
      {kWatch, {"--output"}, "auto|block|skip", "block: ranks wait for slow readers; skip: never;\n"
       "default auto: for a moment",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::mode>()},
      {kWatch, {"-outfile-pattern"}, "FILE", "standard output of ranks into files here: out.%r",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::outfile>()},
      {kWatch, {"-errfile-pattern"}, "FILE", "the same for standard error",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::errfile>()},
      {kWatch, {"--log-dir"}, "DIR", "keep all output on the nodes, in DIR/JOB/rank.N.out",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::log_directory>()},
      {kWatch, {"--stdin"}, "all|none|N", "the rank that gets standard input",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::input>()},
      {kWatch, {"--detach"}, "", "go on in the background once the ranks run, and print\n"
       "the job's id: see dtlaunch-jobs(1)", into::flag<&B::line, &CommandLine::detach>()},
      {kWatch, {"--report"}, "FILE", "write what happened as JSON",
       into::text<&B::line, &CommandLine::reporting, &Reporting::report>(), {.key = "report"}},
      {kWatch, {"--tag"}, "NAME[,NAME]", "label the job: shown in ps, the report and events", tags(),
       {.key = "tags", .in_file = FileValue::kList, .repeatable = true}},
      {kWatch, {"-v", "--verbose"}, "", "say more; -vv: much more",
       into::count<&B::line, &CommandLine::verbosity>(), {.repeatable = true}},
  };
}

OptionRows end_options() {
  return {
      {kEnd, {"--timeout"}, "SECONDS", "end the job after this; status 124",
       seconds<&B::line, &CommandLine::ending, &Ending::timeout>(0.001),
       {.key = "timeout", .in_file = FileValue::kInteger}},
      {kEnd, {"--hang-notice"}, "SECONDS", "name a rank that the others wait for after this;\n"
       "default 30; 0: never", seconds<&B::line, &CommandLine::ending, &Ending::hang_notice>(0),
       {.key = "hang_notice", .in_file = FileValue::kInteger}},
      {kEnd, {"--hang-timeout"}, "SECONDS", "end a job in which that lasts so long; status 124",
       seconds<&B::line, &CommandLine::ending, &Ending::hang_timeout>(0.001),
       {.key = "hang_timeout", .in_file = FileValue::kInteger}},
      {kEnd, {"--start-timeout"}, "SECONDS",
       "if a scheduler starts dtlaunch on each node: wait this\nlong for the other nodes; default 300",
       seconds<&B::line, &CommandLine::starting, &Starting::timeout>(1),
       {.key = "start_timeout", .in_file = FileValue::kInteger}},
      {kEnd, {"--grace"}, "SECONDS", "from SIGTERM to SIGKILL; default 5",
       seconds<&B::line, &CommandLine::ending, &Ending::grace>(0), {.key = "grace", .in_file = FileValue::kInteger}},
      {kEnd, {"--reconnect"}, "SECONDS", "look so long for a host whose connection is lost, while\n"
       "its ranks run on, before the job ends; default 0", seconds<&B::line, &CommandLine::ending, &Ending::reconnect>(0, kMostReconnect),
       {.key = "reconnect", .in_file = FileValue::kInteger}},
      {kEnd, {"--spot"}, "auto|aws|gcp|azure|off", "ask that cloud's metadata service on each host whether\n"
       "it is to go, and stop in order before; default off",
       into::parsed<parse_cloud, &B::line, &CommandLine::ending, &Ending::spot>(), {.key = "spot"}},
      {kEnd, {"--notice-signal"}, "USR1|USR2|none", "to dtlaunch: the job's time is nearly over, stop in\n"
       "order; default USR1 in a job of Slurm, else none",
       into::parsed<parse_notice_signal, &B::line, &CommandLine::ending, &Ending::notice_signal>(), {.key = "notice_signal"}},
      {kEnd, {"--max-restarts"}, "N", "start all ranks again after a failure, N times at most",
       into::whole<&B::line, &CommandLine::restarts, &RestartLimits::max>(0, kMaxRestarts),
       {.key = "max_restarts", .in_file = FileValue::kInteger}},
      {kEnd, {"--spares"}, "N", "keep the last N hosts for that; else those not needed",
       into::whole<&B::line, &CommandLine::restarts, &RestartLimits::spares>(0, kMaxRanks),
       {.key = "hosts.spares", .in_file = FileValue::kInteger}},
      {kEnd, {"--on-event"}, "COMMAND", "a shell command that hears of start, failure, restart\n"
       "and end, as JSON on its input", shell_command(), {.key = "on_event"}},
  };
}

OptionRows about_options() {
  return {
      {kAbout, {"-h", "--help"}, "", "this text; the whole of it: dtlaunch(1)",
       into::flag<&B::help>()},
      {kAbout, {"-V", "--version"}, "", "version of dtlaunch and of its protocol;\n"
       "with -v also of the libraries inside", into::flag<&B::version>()},
      {kAbout, {"--show-scheduler"}, "", "which scheduler is seen, by what, and what follows",
       into::flag<&B::show_scheduler>()},
      {kAbout, {"--show-limits"}, "", "every wait and bound, with its value",
       into::flag<&B::show_limits>()},
      {kAbout, {"--completion"}, kShells, "the shell's script that completes command lines:\n"
       "eval \"$(dtlaunch --completion bash)\"", into::text<&B::line, &CommandLine::shell>()},
  };
}
// clang-format on

}  // namespace

OptionRows run_rows() {
  return joined({watch_options(), end_options(), about_options()});
}

}  // namespace dtl
