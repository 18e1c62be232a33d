#include "launcher/options/options.h"

#include <fmt/format.h>

#include <cmath>

#include "base/limits.h"
#include "base/options/completion.h"
#include "base/text.h"
#include "launcher/options/option_values.h"
#include "launcher/options/subcommands.h"
#include "plan/dialect_variables.h"
#include "plan/pinning/pinning.h"
#include "plan/placement.h"
#include "plan/preload.h"

namespace dtl {
namespace {

using B = BlockOptions;
using Rows = std::vector<OptionRow<B>>;

constexpr std::string_view kWhere = "Where to run";
constexpr std::string_view kWhat = "What to run";
constexpr std::string_view kPin = "How to pin ranks";
constexpr std::string_view kWatch = "How to watch it";
constexpr std::string_view kEnd = "How it ends";
constexpr std::string_view kAbout = "About dtlaunch";

constexpr int kMaxRestarts = 10'000;
constexpr double kMaxSeconds = 366.0 * 24 * 3600;
constexpr double kMostReconnect =
    24.0 * 3600;  // ranks that nobody hears of for longer are forgotten

// Open MPI adds up "-host a -host b".
Target<B> hosts() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            std::string& hosts = block.line.hosts;
            hosts += (hosts.empty() ? "" : ",") + text;
            return std::string();
          }};
}

Target<B> nodes() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            SizeRange range;
            const std::string wrong = read_range(text, range);
            if (!wrong.empty()) return wrong;
            if (range.least == range.most) {
              block.line.placement.nodes = range.least;
            } else {
              block.line.placement.node_range = range;
            }
            return wrong;
          }};
}

Target<B> ranks() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            SizeRange range;
            const std::string wrong = read_range(text, range);
            if (!wrong.empty()) return wrong;
            if (range.least == range.most) {
              block.program.ranks = range.least;
            } else {
              block.program.rank_range = range;
            }
            return wrong;
          }};
}

Target<B> hosts_by_command() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            if (trim(text).empty()) return "an empty command lists no host";
            block.line.discover = text;
            return {};
          }};
}

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

// "NAME=VALUE"
void add_variable(Variables& set, const std::string& text) {
  const std::size_t equals = text.find('=');
  set.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

template <auto... Members>
Target<B> variable() {
  return {Takes::kVariable, [](B& block, const std::string& text, const Option&) {
            add_variable(place<Members...>(block), text);
            return std::string();
          }};
}

// Open MPI's -x NAME=VALUE sets, -x NAME passes on.
Target<B> exported() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            const std::string name = text.substr(0, text.find('='));
            if (!is_variable_name(name)) return fmt::format("'{}' is no name of a variable", name);
            if (name == text) {
              block.program.passed.push_back(text);
            } else {
              add_variable(block.program.set, text);
            }
            return {};
          }};
}

// how: all, none or list. The last one given wins.
template <auto... Members>
Target<B> inherit(const std::string& how) {
  const bool list = how == "list";
  return {list ? Takes::kValue : Takes::kNothing,
          [how, list](B& block, const std::string& names, const Option&) -> std::string {
            const auto said = parse_inheritance(list ? "list:" + names : how);
            if (!said) return fmt::format("'{}' is no list of names", names);
            place<Members...>(block) = said;
            return {};
          }};
}

Target<B> shell_command() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            if (trim(text).empty()) return "an empty command does not hear of anything";
            block.line.reporting.on_event = text;
            return {};
          }};
}

Target<B> module() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            block.program.command = {"python3", "-m", text};
            return std::string();
          }};
}

// A row is read as one.
// clang-format off
Rows where_options() {
  return {
      {kWhere, {"-f", "-machinefile", "-hostfile"}, "FILE",
       "the hosts, one per line: see dtlaunch-hostfile(5);\n"
       "without hosts: the engine's, or this machine and no ssh", into::text<&B::line, &CommandLine::hostfile>(),
       {.key = "hosts.file", .in_file = FileValue::kPath}},
      {kWhere, {"-H", "-hosts"}, "LIST", "the hosts themselves: a,b:2,n[01-04]",
       hosts(), {.repeatable = true, .scope = Scope::kProgram}},
      {kWhere, {"--discover"}, "COMMAND", "lists the hosts, now and while the job runs, which they\n"
       "join and leave; or a file", hosts_by_command(), {.key = "hosts.discover"}},
      {kWhere, {"--nnodes"}, "N[:MAX]", "use the first N hosts only; with MAX, from N on as many\n"
       "as there are: the job goes on when some come and go", nodes(),
       {.key = "nodes", .in_file = FileValue::kRange}},
      {kWhere, {"-n", "-np"}, "N[:MAX]", "ranks in all; default: every slot; with MAX, from N on\n"
       "as many as there are slots for, also while the job runs", ranks(),
       {.key = "ranks", .in_file = FileValue::kRange, .scope = Scope::kProgram}},
      {kWhere, {"-N", "-perhost", "-ppn"}, "N", "ranks on each host; overrides slots",
       into::whole<&B::line, &CommandLine::placement, &Placement::ranks_per_node>(1, kMaxRanks),
       {.key = "ranks_per_node", .in_file = FileValue::kInteger}},
      {kWhere, {"-rr"}, "", "deal the ranks to the hosts one by one",
       into::flag<&B::round_robin>()},
      {kWhere, {"-grr"}, "N", "deal N ranks at a time to each host in turn",
       into::whole<&B::line, &CommandLine::placement, &Placement::deal>(1, kMaxRanks),
       {.key = "deal", .in_file = FileValue::kInteger}},
      {kWhere, {"-rankmap"}, "MAP", "the host of each rank: 0,0,1 or (0,4,2)",
       into::parsed<parse_rank_map, &B::line, &CommandLine::placement, &Placement::rank_map>(), {.key = "rank_map"}},
      {kWhere, {"--nolocal", "-skip-launch-node"}, "",
       "no ranks on this machine, though it is listed",
       into::flag<&B::line, &CommandLine::placement, &Placement::skip_launch_host>(), {.key = "skip_launch_node"}},
      {kWhere, {"--oversubscribe"}, "", "allow more ranks than slots",
       into::flag<&B::line, &CommandLine::placement, &Placement::oversubscribe>(), {.key = "oversubscribe"}},
      {kWhere, {"--iface"}, "NET[,NET]", "use these networks only: eth1, 10.0.0.0/24;\n"
       "or all but these: ^docker0", into::text<&B::line, &CommandLine::network, &NetworkOptions::interface>(),
       {.key = "interface"}},
      {kWhere, {"--encrypt"}, "", "under TLS between hosts, what libdtring carries",
       into::flag<&B::line, &CommandLine::network, &NetworkOptions::encrypts>(), {.key = "encrypt"}},
      {kWhere, {"--port-range"}, "LOW:HIGH", "listen on these TCP ports only",
       into::parsed<parse_port_range, &B::line, &CommandLine::network, &NetworkOptions::ports>(), {.key = "port_range"}},
      {kWhere, {"--engine"}, "slurm|pbs|lsf|sge|flux|mpijob|pytorchjob|trainjob|indexed-job|none",
       "who has started this job, and gives it hosts;\ndefault: who shows in the environment",
       into::parsed<parse_scheduler, &B::line, &CommandLine::starting, &Starting::scheduler>(), {.key = "engine"}},
      {kWhere, {"-bootstrap", "-launcher"}, "ssh|fork|srun|blaunch|qrsh|pbs|flux",
       "how agents start; fork: all hosts are this machine;\ndefault: what the engine has for that, or ssh",
       into::parsed<parse_agent_start, &B::line, &CommandLine::starting, &Starting::agent_start>(), {.key = "launcher"}},
      {kWhere, {"--accept-new-host-keys"}, "", "trust and remember hosts never seen before;\n"
       "a changed host key is refused all the same",
       into::flag<&B::line, &CommandLine::starting, &Starting::accept_new_host_keys>()},
      {kWhere, {"--push"}, "", "bring dtagent to hosts that lack it, and dttrain",
       into::flag<&B::line, &CommandLine::starting, &Starting::push>()},
  };
}

Rows what_options() {
  return {
      {kWhat, {"-c", "--config"}, "FILE", "the job file; default with no program given:\n"
       "./dtlaunch.toml, or else a short demonstration",
       into::text<&B::line, &CommandLine::job_file>()},
      {kWhat, {"-genv"}, "VARIABLE VALUE", "set a variable for all ranks; VARIABLE=VALUE too",
       variable<&B::line, &CommandLine::environment, &EnvironmentOptions::set>(), {.repeatable = true}},
      {kWhat, {"-env"}, "VARIABLE VALUE", "the same, for this program alone",
       variable<&B::program, &ProgramLine::set>(), {.repeatable = true, .scope = Scope::kProgram}},
      {kWhat, {"-genvall"}, "", "ranks inherit the environment: the default",
       inherit<&B::line, &CommandLine::inheritance>("all")},
      {kWhat, {"-genvnone"}, "", "ranks inherit nothing",
       inherit<&B::line, &CommandLine::inheritance>("none")},
      {kWhat, {"-genvlist"}, "VARIABLE,..", "ranks inherit these variables only",
       inherit<&B::line, &CommandLine::inheritance>("list")},
      {kWhat, {"-envall"}, "", "the same three for this program alone",
       inherit<&B::program, &ProgramLine::inheritance>("all"), {.scope = Scope::kProgram}},
      {kWhat, {"-envnone"}, "", "", inherit<&B::program, &ProgramLine::inheritance>("none"),
       {.scope = Scope::kProgram}},
      {kWhat, {"-envlist"}, "VARIABLE,..", "",
       inherit<&B::program, &ProgramLine::inheritance>("list"), {.scope = Scope::kProgram}},
      {kWhat, {"-x"}, "VARIABLE[=VALUE]", "pass or set a variable, as Open MPI does", exported(),
       {.repeatable = true, .scope = Scope::kProgram}},
      {kWhat, {"--compat"}, "ompi|torchrun|horovod|deepspeed,..",
       "set another launcher's variables too",
       into::parsed<parse_dialects, &B::line, &CommandLine::environment, &EnvironmentOptions::compat>(),
       {.key = "compat", .in_file = FileValue::kList}},
      {kWhat, {"--preload"}, "tcmalloc|jemalloc|iomp,..", "load these libraries before all else",
       into::parsed<parse_preloads, &B::line, &CommandLine::environment, &EnvironmentOptions::preload>(),
       {.key = "preload", .in_file = FileValue::kList}},
      {kWhat, {"-wdir"}, "DIR", "working directory of the ranks",
       into::text<&B::program, &ProgramLine::working_directory>(),
       {.scope = Scope::kProgram}},
      {kWhat, {"-gwdir"}, "DIR", "the same for all programs without one",
       into::text<&B::line, &CommandLine::working_directory>(),
       {.key = "working_directory", .in_file = FileValue::kPath}},
      {kWhat, {"--umask"}, "MODE", "file mode creation mask of the ranks;\n"
       "default: the one that dtlaunch was started with",
       into::parsed<parse_umask, &B::line, &CommandLine::environment, &EnvironmentOptions::umask>(), {.key = "umask"}},
      {kWhat, {"-m"}, "MODULE", "the program is: python3 -m MODULE", module(),
       {.scope = Scope::kProgram, .last = true}},
      {kWhat, {"-configfile"}, "FILE", "the programs, one a line: -n 2 a b c",
       into::text<&B::line, &CommandLine::program_file>()},
      {kWhat, {"--dry-run"}, "", "print the plan and start no rank",
       into::flag<&B::line, &CommandLine::dry_run>()},
  };
}

Rows pin_options() {
  return {
      {kPin, {"-bind-to"}, "core|socket|numa|hwthread|l3cache|user:CPUS|none",
       "CPUS: 0-3,8; default: the cores divided evenly",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::bind_to>(),
       {.key = "pinning.bind_to"}},
      {kPin, {"-map-by"}, "socket|numa|core|node|slot|ppr:N:WHAT|slot:PE=N",
       "where the next rank goes: ppr:2:socket, slot:PE=4",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::map_by>(),
       {.key = "pinning.map_by"}},
      {kPin, {"-membind"}, "preferred|bind|interleave|none",
       "where the memory of a rank comes from",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::memory_bind>(),
       {.key = "pinning.memory"}},
      {kPin, {"-binding"}, "WORDS", "pin=...;domain=...;order=... of Intel MPI",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::binding>()},
      {kPin, {"--comm-cores"}, "N", "keep N cores of each rank for communication;\n"
       "default: 1 from 8 cores on, else 0",
       into::whole<&B::line, &CommandLine::pinning, &PinOptions::comm_cores>(0, kMaxCommCores),
       {.key = "pinning.comm_cores", .in_file = FileValue::kInteger}},
  };
}

Rows watch_options() {
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
      {kWatch, {"-v", "--verbose"}, "", "say more; -vv: much more",
       into::count<&B::line, &CommandLine::verbosity>(), {.repeatable = true}},
  };
}

Rows end_options() {
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
       "where an engine starts dtlaunch on each node:\nwait so long for the others; default 300",
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

Rows about_options() {
  return {
      {kAbout, {"-h", "--help"}, "", "this text; the whole of it: dtlaunch(1)",
       into::flag<&B::help>()},
      {kAbout, {"-V", "--version"}, "", "version of dtlaunch and of its protocol;\n"
       "with -v also of the libraries inside", into::flag<&B::version>()},
      {kAbout, {"--show-engine"}, "", "which engine is seen, by what, and what follows",
       into::flag<&B::show_engine>()},
      {kAbout, {"--show-limits"}, "", "every wait and bound, with its value",
       into::flag<&B::show_limits>()},
      {kAbout, {"--completion"}, kShells, "the shell's script that completes command lines:\n"
       "eval \"$(dtlaunch --completion bash)\"", into::text<&B::line, &CommandLine::shell>()},
  };
}
// clang-format on

}  // namespace

const OptionTable<BlockOptions>& option_table() {
  static const OptionTable<B> kTable = [] {
    Rows all;
    for (Rows (*part)() :
         {where_options, what_options, pin_options, watch_options, end_options, about_options}) {
      for (OptionRow<B>& row : part()) all.push_back(std::move(row));
    }
    return OptionTable<B>(std::move(all));
  }();
  return kTable;
}

std::string help_text() {
  std::string text =
      "usage: dtlaunch [options] program [argument ...] [: [options] program ...]\n"
      "       dtlaunch [options]\n"
      "Starts ranks on one or many hosts, pins them, and ends all of them together.\n"
      "Options take one dash or two, and -option=value; the program comes after them.\n";
  text += options_text(option_table().options());
  if (!subcommand_table().empty()) {
    text += "\nSubcommands (the first word; `dtlaunch -- ps` runs a program of that name)\n";
  }
  for (const Subcommand& subcommand : subcommand_table()) {
    text += fmt::format("  dtlaunch {:<12} {}\n", subcommand.name, subcommand.summary);
  }
  text +=
      "\nExamples\n"
      "  dtlaunch                                     the job file, or a demonstration\n"
      "  dtlaunch -np 2 dttrain --help                two ranks on this machine\n"
      "  dtlaunch -f hosts -np 4 -ppn 2 python3 train.py\n";
  return text;
}

}  // namespace dtl
