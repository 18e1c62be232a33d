// How to watch a job and how it ends: the second half of the table. A row has a section, names (the
// last is the canonical one), value, help, target, and traits such as the job file's key.
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
// The record of a job holds all tags in one line of 4096 bytes.
constexpr std::size_t kMaxTagBytes = 64, kMaxTags = 32;
constexpr int kMostHistoryDays = 36'500;
constexpr double kMostReconnect = 24.0 * 3600;  // do not keep unreachable ranks running for longer

// A number of seconds, fractions included.
template <auto... Members>
Target<B> seconds(double low, double high = kMaxSeconds) {
  return {Takes::kValue, [low, high](B& block, const std::string& text, const Option& option) {
            JobTime time{0};
            std::string wrong = read_seconds(text, option.names.back(), low, high, time);
            if (wrong.empty()) place<Members...>(block) = time;
            return wrong;
          }};
}

// The shell runs it later; launcher/request checks whether it may run its program.
Target<B> shell_command() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            if (trim(text).empty()) return "the command is empty";
            block.line.reporting.on_event = text;
            return {};
          }};
}

bool is_ascii_word(unsigned char sign) {
  return sign < 128 && std::isalnum(sign) != 0;
}

// Tags appear in tables, in JSON and between commas: no blanks, commas or quotes. A leading dash
// would be an option without its value.
void check_tag(const std::string& name) {
  constexpr std::string_view kSigns = "._:/@+=-";
  const auto refuse = [](const std::string& reason) {
    throw option_error("--tag", reason, "--tag nightly,run=7");
  };
  if (name.empty()) refuse("a name is missing before or after a comma");
  if (name.size() > kMaxTagBytes) {
    refuse(fmt::format("'{}' has {} characters; a tag has up to {}", printable(name), name.size(),
                       kMaxTagBytes));
  }
  const bool fits =
      is_ascii_word(name.front()) && std::all_of(name.begin(), name.end(), [&](char sign) {
        return is_ascii_word(sign) || kSigns.find(sign) != kSigns.npos;
      });
  if (fits) return;
  refuse(fmt::format("'{}' is not a tag (letters, digits and {}; a letter or digit first)",
                     printable(name), kSigns));
}

Target<B> tags() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            // --tag may be given several times, and the job file has a list: adds all, each name
            // once.
            std::vector<std::string>& tags = block.line.reporting.tags;
            for (const std::string& name : split(text, ',')) {
              check_tag(name);
              if (std::find(tags.begin(), tags.end(), name) == tags.end()) tags.push_back(name);
            }
            return tags.size() > kMaxTags ? fmt::format("a job has up to {} tags", kMaxTags)
                                          : std::string();
          }};
}

Target<B> history_size() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            std::int64_t bytes = 0;
            std::string wrong = read_size(text, bytes);
            if (wrong.empty()) block.line.reporting.history_bytes = bytes;
            return wrong;
          }};
}

// One row per line.
// clang-format off
OptionRows watch_options() {
  return {
      {kWatch, {"-l", "-prepend-rank"}, "", "put [rank] before each line",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::prepend_rank>(), {.key = "label"}},
      {kWatch, {"-prepend-pattern"}, "TEXT", "put TEXT before each line: %r rank, %g program, %p pid,\n"
       "%h host, %t time", into::text<&B::line, &CommandLine::shown, &OutputChoice::pattern>()},
      {kWatch, {"--tag-output"}, "", "put [1,rank]<stdout>: before each line",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::tag>()},
      {kWatch, {"--timestamp-output"}, "", "put the date before each line",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::time>()},
      {kWatch, {"--only"}, "RANKS", "show the output of these ranks only: 0,3-5; or none",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::only>()},
      {kWatch, {"--color"}, "auto|always|never", "colour labels and the error card;\n"
       "default auto: on terminals, unless NO_COLOR is set",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::color>(), {.key = "color"}},
      {kWatch, {"--fold"}, "", "show equal lines of several ranks once, as [0-7]",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::fold>()},
      {kWatch, {"--no-fold"}, "", "never fold, even on a terminal",
       into::flag<&B::line, &CommandLine::shown, &OutputChoice::no_fold>()},
      {kWatch, {"--output"}, "auto|block|skip", "if the reader is slow, ranks wait briefly (auto), always\n"
       "(block) or never (skip: lines are left out)",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::mode>()},
      {kWatch, {"-outfile-pattern"}, "FILE", "write standard output of ranks to files here: out.%r",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::outfile>()},
      {kWatch, {"-errfile-pattern"}, "FILE", "write standard error of ranks to files here: err.%r",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::errfile>()},
      {kWatch, {"--log-dir"}, "DIR", "also keep output on each host: DIR/JOB/rank.N.out",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::log_directory>()},
      {kWatch, {"--stdin"}, "all|none|N", "rank that reads standard input",
       into::text<&B::line, &CommandLine::shown, &OutputChoice::input>()},
      {kWatch, {"--detach"}, "", "run in the background, and print the job's id",
       into::flag<&B::line, &CommandLine::detach>()},
      {kWatch, {"--report"}, "FILE", "write a report of the job: JSON, or a page if\nFILE ends in .html",
       into::text<&B::line, &CommandLine::reporting, &Reporting::report>(), {.key = "report"}},
      {kWatch, {"--metrics-file"}, "FILE", "keep gauges about the job here, for node_exporter",
       into::text<&B::line, &CommandLine::reporting, &Reporting::metrics_file>(), {.key = "metrics_file"}},
      {kWatch, {"--tag"}, "NAME[,NAME]", "label the job; ps, the report and events show it", tags(),
       {.key = "tags", .in_file = FileValue::kList, .repeatable = true}},
      {kWatch, {"--history-days"}, "N", "keep jobs in the history for N days; default 90;\n0: do not record this job",
       into::whole<&B::line, &CommandLine::reporting, &Reporting::history_days>(0, kMostHistoryDays),
       {.key = "history_days", .in_file = FileValue::kInteger}},
      {kWatch, {"--history-size"}, "SIZE", "remove the oldest jobs of a larger history: 200M, 2G;\ndefault 1G",
       history_size(), {.key = "history_size"}},
      {kWatch, {"-v", "--verbose"}, "", "print more messages; -vv: many more",
       into::count<&B::line, &CommandLine::verbosity>(), {.repeatable = true}},
  };
}

OptionRows end_options() {
  return {
      {kEnd, {"--timeout"}, "SECONDS", "end the job after this time; status 124",
       seconds<&B::line, &CommandLine::ending, &Ending::timeout>(0.001),
       {.key = "timeout", .in_file = FileValue::kInteger}},
      {kEnd, {"--hang-notice"}, "SECONDS", "name a rank that others have waited for this long;\n"
       "default 30; 0: never", seconds<&B::line, &CommandLine::ending, &Ending::hang_notice>(0),
       {.key = "hang_notice", .in_file = FileValue::kInteger}},
      {kEnd, {"--hang-timeout"}, "SECONDS", "end the job when a rank hangs this long; status 124",
       seconds<&B::line, &CommandLine::ending, &Ending::hang_timeout>(0.001),
       {.key = "hang_timeout", .in_file = FileValue::kInteger}},
      {kEnd, {"--start-timeout"}, "SECONDS",
       "if a scheduler starts dtlaunch on each node: wait this\nlong for the other nodes; default 300",
       seconds<&B::line, &CommandLine::starting, &Starting::timeout>(1),
       {.key = "start_timeout", .in_file = FileValue::kInteger}},
      {kEnd, {"--grace"}, "SECONDS", "time between SIGTERM and SIGKILL; default 5",
       seconds<&B::line, &CommandLine::ending, &Ending::grace>(0), {.key = "grace", .in_file = FileValue::kInteger}},
      {kEnd, {"--reconnect"}, "SECONDS", "keep trying a lost host this long; its ranks keep\n"
       "running; default 0", seconds<&B::line, &CommandLine::ending, &Ending::reconnect>(0, kMostReconnect),
       {.key = "reconnect", .in_file = FileValue::kInteger}},
      {kEnd, {"--spot"}, "auto|aws|gcp|azure|off", "ask this cloud's metadata service whether a host will be\n"
       "taken back, and stop in time; default off",
       into::parsed<parse_cloud, &B::line, &CommandLine::ending, &Ending::spot>(), {.key = "spot"}},
      {kEnd, {"--notice-signal"}, "USR1|USR2|none", "signal to dtlaunch that the job's time is nearly over;\n"
       "default: USR1 in a Slurm job, else none",
       into::parsed<parse_notice_signal, &B::line, &CommandLine::ending, &Ending::notice_signal>(), {.key = "notice_signal"}},
      {kEnd, {"--max-restarts"}, "N", "restart all ranks after a failure, at most N times",
       into::whole<&B::line, &CommandLine::restarts, &RestartLimits::max>(0, kMaxRestarts),
       {.key = "max_restarts", .in_file = FileValue::kInteger}},
      {kEnd, {"--spares"}, "N", "reserve the last N hosts as spares for restarts;\ndefault: the hosts without ranks",
       into::whole<&B::line, &CommandLine::restarts, &RestartLimits::spares>(0, kMaxRanks),
       {.key = "hosts.spares", .in_file = FileValue::kInteger}},
      {kEnd, {"--on-event"}, "COMMAND", "run this shell command at start, failure, restart and\n"
       "end; it reads JSON from standard input", shell_command(), {.key = "on_event"}},
  };
}

OptionRows about_options() {
  return {
      {kAbout, {"-h", "--help"}, "", "the most used options and the commands",
       into::flag<&B::help>()},
      {kAbout, {"--help-all"}, "", "all options; `dtlaunch help TOPIC` shows some of them",
       into::flag<&B::help_all>()},
      {kAbout, {"-V", "--version"}, "", "version of dtlaunch and of its protocol;\n"
       "with -v also of the libraries inside", into::flag<&B::version>()},
      {kAbout, {"--show-scheduler"}, "", "show which scheduler is detected, and why",
       into::flag<&B::show_scheduler>()},
      {kAbout, {"--show-limits"}, "", "show every timeout and limit with its value",
       into::flag<&B::show_limits>()},
      {kAbout, {"--json"}, "", "print --version, --show-scheduler, --show-limits and\n"
       "--dry-run as JSON: dtlaunch-json(7)", into::flag<&B::line, &CommandLine::json>()},
      {kAbout, {"--names"}, "", "print a folder of links with other launchers' names, for\n"
       "their scripts: PATH=$(dtlaunch --names):$PATH", into::flag<&B::names>()},
      {kAbout, {"--completion"}, kShells, "print the completion script of a shell:\n"
       "eval \"$(dtlaunch --completion bash)\"", into::text<&B::line, &CommandLine::shell>()},
  };
}
// clang-format on

}  // namespace

OptionRows run_rows() {
  return joined({watch_options(), end_options(), about_options()});
}

}  // namespace dtl
