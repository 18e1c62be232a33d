// Where to run, what to run and how to pin it: the first half of the table. run_options.cc explains
// a row.
#include "launcher/options/option_sections.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/option_values.h"
#include "plan/container.h"
#include "plan/dialect_variables.h"
#include "plan/mpi.h"
#include "plan/pinning/pinning.h"
#include "plan/placement.h"
#include "plan/preload.h"
#include "plan/request/tree_width.h"

namespace dtl {
namespace {

using B = BlockOptions;

// Titles of sections in --help.
constexpr std::string_view kWhere = "Where to run";
constexpr std::string_view kWhat = "What to run";
constexpr std::string_view kPin = "How to pin ranks";

// Open MPI combines "-host a -host b".
Target<B> hosts() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            std::string& hosts = block.line.hosts;
            // Parsed later, with the job's description, because a program may have its own list.
            hosts += (hosts.empty() ? "" : ",") + text;
            return std::string();
          }};
}

// "N" sets `number`, "MIN:MAX" sets `range`. The two functions return these members of a block.
Target<B> size(std::optional<int>& (*number)(B&), std::optional<SizeRange>& (*range)(B&)) {
  return {Takes::kValue, [=](B& block, const std::string& text, const Option& option) {
            SizeRange said;
            std::string wrong = read_range(text, said);
            if (wrong == kRangeBackwards) {
              const std::size_t colon = text.find(':');
              const std::string_view name = option.names.back();
              throw option_error(
                  fmt::format("{} {}", name, text), wrong,
                  fmt::format("{} {}:{}", name, text.substr(colon + 1), text.substr(0, colon)));
            }
            if (!wrong.empty()) return wrong;
            if (said.least == said.most) {
              number(block) = said.least;
            } else {
              range(block) = said;
            }
            return wrong;
          }};
}

Target<B> nodes() {
  return size(
      [](B & block) -> auto& { return block.line.placement.nodes; },
      [](B & block) -> auto& { return block.line.placement.node_range; });
}

Target<B> ranks() {
  return size(
      [](B & block) -> auto& { return block.program.ranks; },
      [](B & block) -> auto& { return block.program.rank_range; });
}

Target<B> hosts_by_command() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            if (trim(text).empty()) return "the command is empty";
            block.line.discover = text;
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

// Open MPI's -x NAME=VALUE sets a variable, -x NAME passes it on. For the latter only the name is
// kept; launcher/request, which knows the environment, looks up the value.
Target<B> exported() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) -> std::string {
            const std::string name = text.substr(0, text.find('='));
            if (!is_variable_name(name))
              return fmt::format("'{}' is not the name of a variable", printable(name));
            if (name == text) {
              block.program.passed.push_back(text);
            } else {
              add_variable(block.program.set, text);
            }
            return {};
          }};
}

Target<B> wait() {
  return {Takes::kPerhapsNumber,
          [](B& block, const std::string& text, const Option& option) -> std::string {
            Placement& placement = block.line.placement;
            placement.waits = true;
            placement.wait_limit.reset();
            if (text.empty()) return {};
            JobTime limit{0};
            std::string wrong = read_seconds(text, option.names.back(), 0.001, kMaxSeconds, limit);
            if (wrong.empty()) placement.wait_limit = limit;
            return wrong;
          }};
}

Target<B> tree() {
  return {Takes::kPerhapsNumber,
          [](B& block, const std::string& text, const Option&) -> std::string {
            std::int64_t width = kTreeWidth;
            std::string wrong;
            if (!text.empty()) wrong = read_whole(text, 0, kMostTreeWidth, width);
            if (!wrong.empty() || (width > 0 && width < kLeastTreeWidth)) {
              wrong = fmt::format("not a width (0, or {} to {})", kLeastTreeWidth, kMostTreeWidth);
            }
            if (wrong.empty()) block.line.starting.tree = static_cast<int>(width);
            return wrong;
          }};
}

// how: all, none or list. The last one given wins.
template <auto... Members>
Target<B> inherit(const std::string& how) {
  const bool list = how == "list";
  return {list ? Takes::kValue : Takes::kNothing,
          [how, list](B& block, const std::string& names, const Option&) -> std::string {
            const auto said = parse_inheritance(list ? "list:" + names : how);
            if (!said) return "not a list of names";
            place<Members...>(block) = said;
            return {};
          }};
}

// The program's own arguments follow as the words after the options.
Target<B> module() {
  return {Takes::kValue, [](B& block, const std::string& text, const Option&) {
            block.program.command = {"python3", "-m", text};
            return std::string();
          }};
}

// One row per line.
// clang-format off
OptionRows where_options() {
  return {
      {kWhere, {"-f", "-machinefile", "-hostfile"}, "FILE",
       "file of hosts; default: the scheduler's, or this machine", into::text<&B::line, &CommandLine::hostfile>(),
       {.key = "hosts.file", .in_file = FileValue::kPath}},
      {kWhere, {"-H", "-hosts"}, "LIST", "the hosts themselves: node1,node2:4,n[01-04]",
       hosts(), {.repeatable = true, .scope = Scope::kProgram}},
      {kWhere, {"--discover"}, "COMMAND", "read hosts from this command or file, at the start and\n"
       "while the job runs; hosts may join and leave", hosts_by_command(), {.key = "hosts.discover"}},
      {kWhere, {"--nnodes"}, "N[:MAX]", "use the first N hosts; with MAX, use N to MAX hosts,\n"
       "which may join and leave", nodes(),
       {.key = "nodes", .in_file = FileValue::kRange}},
      {kWhere, {"-n", "-np"}, "N[:MAX]", "number of ranks, or N to MAX; default: one per slot",
       ranks(),
       {.key = "ranks", .in_file = FileValue::kRange, .scope = Scope::kProgram}},
      {kWhere, {"-N", "-perhost", "-ppn"}, "N", "ranks per host; overrides slots",
       into::whole<&B::line, &CommandLine::placement, &Placement::ranks_per_node>(1, kMaxRanks),
       {.key = "ranks_per_node", .in_file = FileValue::kInteger}},
      {kWhere, {"-rr"}, "", "place one rank on each host in turn",
       into::flag<&B::round_robin>()},
      {kWhere, {"-grr"}, "N", "place N ranks on each host in turn",
       into::whole<&B::line, &CommandLine::placement, &Placement::deal>(1, kMaxRanks),
       {.key = "deal", .in_file = FileValue::kInteger}},
      {kWhere, {"-rankmap"}, "MAP", "host of each rank: 0,0,1; or in blocks, as (first host,\nnumber of hosts, ranks on each): (0,4,2)",
       into::parsed<parse_rank_map, &B::line, &CommandLine::placement, &Placement::rank_map>(), {.key = "rank_map"}},
      {kWhere, {"--nolocal", "-skip-launch-node"}, "",
       "start no ranks on this machine, even if it is listed",
       into::flag<&B::line, &CommandLine::placement, &Placement::skip_launch_host>(), {.key = "skip_launch_node"}},
      {kWhere, {"--oversubscribe"}, "", "allow more ranks than slots",
       into::flag<&B::line, &CommandLine::placement, &Placement::oversubscribe>(), {.key = "oversubscribe"}},
      {kWhere, {"--share-cores"}, "", "also use cores that other jobs have claimed",
       into::flag<&B::line, &CommandLine::placement, &Placement::share_cores>(), {.key = "share_cores"}},
      {kWhere, {"--wait"}, "[SECONDS]", "wait in line while other jobs have the cores",
       wait(), {.key = "wait", .in_file = FileValue::kFlagOrInteger}},
      {kWhere, {"--iface"}, "NET[,NET]", "use only these networks: eth1, 10.0.0.0/24;\n"
       "or all but these: ^docker0", into::text<&B::line, &CommandLine::network, &NetworkOptions::interface>(),
       {.key = "interface"}},
      {kWhere, {"--encrypt"}, "", "encrypt libdtring traffic between hosts (TLS 1.3)",
       into::flag<&B::line, &CommandLine::network, &NetworkOptions::encrypts>(), {.key = "encrypt"}},
      {kWhere, {"--port-range"}, "LOW:HIGH", "listen on these TCP ports only",
       into::parsed<parse_port_range, &B::line, &CommandLine::network, &NetworkOptions::ports>(), {.key = "port_range"}},
      {kWhere, {"--scheduler"}, "slurm|pbs|lsf|sge|flux|mpijob|pytorchjob|trainjob|indexed-job|none",
       "scheduler that started this job and provides its hosts;\ndefault: detected from the environment",
       into::parsed<parse_scheduler, &B::line, &CommandLine::starting, &Starting::scheduler>(), {.key = "scheduler"}},
      {kWhere, {"-bootstrap", "-launcher"}, "ssh|fork|srun|blaunch|qrsh|pbs|flux",
       "how agents start; fork: treat all hosts as this machine;\ndefault: the scheduler's own way, else ssh",
       into::parsed<parse_agent_start, &B::line, &CommandLine::starting, &Starting::agent_start>(), {.key = "launcher"}},
      {kWhere, {"--accept-new-host-keys"}, "", "trust and remember hosts never seen before;\n"
       "a changed host key is still refused",
       into::flag<&B::line, &CommandLine::starting, &Starting::accept_new_host_keys>()},
      {kWhere, {"--push"}, "", "copy dtagent and dttrain to hosts that lack them", into::flag<&B::line, &CommandLine::starting, &Starting::push>()},
      {kWhere, {"--sync"}, "DIR", "copy this folder to hosts without it; ranks start in it",
       into::text<&B::line, &CommandLine::starting, &Starting::sync>(), {.key = "sync", .in_file = FileValue::kPath}},
      {kWhere, {"--venv"}, "auto|DIR", "run ranks in this virtual environment, and copy it to\n"
       "hosts that lack it; auto: the active one, or .venv", into::text<&B::line, &CommandLine::starting, &Starting::venv>(), {.key = "venv"}},
      {kWhere, {"--tree"}, "[WIDTH]", "talk to most hosts' agents through others, which listen\n"
       "for that; 0: never; default: 32 with over 1,024 hosts",
       tree(), {.key = "tree", .in_file = FileValue::kFlagOrInteger}},
  };
}

OptionRows what_options() {
  return {
      {kWhat, {"-c", "--config"}, "FILE", "job file; default without a program:\n"
       "./dtlaunch.toml, else a short demonstration",
       into::text<&B::line, &CommandLine::job_file>()},
      {kWhat, {"-genv"}, "VARIABLE VALUE", "set a variable for all ranks; or VARIABLE=VALUE",
       variable<&B::line, &CommandLine::environment, &EnvironmentOptions::set>(), {.repeatable = true}},
      {kWhat, {"-env"}, "VARIABLE VALUE", "set a variable for this program only",
       variable<&B::program, &ProgramLine::set>(), {.repeatable = true, .scope = Scope::kProgram}},
      {kWhat, {"-genvall"}, "", "pass the whole environment to ranks (default)",
       inherit<&B::line, &CommandLine::inheritance>("all")},
      {kWhat, {"-genvnone"}, "", "pass no variable to ranks",
       inherit<&B::line, &CommandLine::inheritance>("none")},
      {kWhat, {"-genvlist"}, "VARIABLE,..", "pass only these variables to ranks",
       inherit<&B::line, &CommandLine::inheritance>("list")},
      {kWhat, {"-envall"}, "", "like -genvall, for this program only",
       inherit<&B::program, &ProgramLine::inheritance>("all"), {.scope = Scope::kProgram}},
      {kWhat, {"-envnone"}, "", "like -genvnone, for this program only",
       inherit<&B::program, &ProgramLine::inheritance>("none"),
       {.scope = Scope::kProgram}},
      {kWhat, {"-envlist"}, "VARIABLE,..", "like -genvlist, for this program only",
       inherit<&B::program, &ProgramLine::inheritance>("list"), {.scope = Scope::kProgram}},
      {kWhat, {"-x"}, "VARIABLE[=VALUE]", "pass or set a variable, as in Open MPI", exported(),
       {.repeatable = true, .scope = Scope::kProgram}},
      {kWhat, {"--compat"}, "ompi|torchrun|horovod|deepspeed,..",
       "also set the variables of another launcher",
       into::parsed<parse_dialects, &B::line, &CommandLine::environment, &EnvironmentOptions::compat>(),
       {.key = "compat", .in_file = FileValue::kList}},
      {kWhat, {"--container"}, "IMAGE", "run the ranks in a container of podman on each host",
       into::parsed<parse_image, &B::line, &CommandLine::container>(), {.key = "container"}},
      {kWhat, {"--pmi"}, "auto|pmi1|pmi2|pmix|none", "how MPI programs find each other; default: auto",
       into::parsed<parse_pmi, &B::line, &CommandLine::environment, &EnvironmentOptions::pmi>(), {.key = "pmi"}},
      {kWhat, {"--preload"}, "tcmalloc|jemalloc|iomp,..", "load these libraries first (LD_PRELOAD)",
       into::parsed<parse_preloads, &B::line, &CommandLine::environment, &EnvironmentOptions::preload>(),
       {.key = "preload", .in_file = FileValue::kList}},
      {kWhat, {"-wdir"}, "DIR", "working directory of the ranks",
       into::text<&B::program, &ProgramLine::working_directory>(),
       {.scope = Scope::kProgram}},
      {kWhat, {"-gwdir"}, "DIR", "working directory of programs without -wdir",
       into::text<&B::line, &CommandLine::working_directory>(),
       {.key = "working_directory", .in_file = FileValue::kPath}},
      {kWhat, {"--umask"}, "MODE", "umask of the ranks; default: the one of dtlaunch",
       into::parsed<parse_umask, &B::line, &CommandLine::environment, &EnvironmentOptions::umask>(), {.key = "umask"}},
      {kWhat, {"-m"}, "MODULE", "run python3 -m MODULE", module(),
       {.scope = Scope::kProgram, .last = true}},
      {kWhat, {"-configfile"}, "FILE", "file with a program and its options per line",
       into::text<&B::line, &CommandLine::program_file>()},
      {kWhat, {"--dry-run"}, "", "print the plan and start no ranks",
       into::flag<&B::line, &CommandLine::dry_run>()},
  };
}

OptionRows pin_options() {
  return {
      {kPin, {"-bind-to"}, "core|socket|numa|hwthread|l3cache|user:CPUS|none",
       "CPUs of each rank; default: an even share of the cores",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::bind_to>(),
       {.key = "pinning.bind_to"}},
      {kPin, {"-map-by"}, "socket|numa|core|node|slot|ppr:N:WHAT|slot:PE=N",
       "where the next rank goes: ppr:2:socket, slot:PE=4",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::map_by>(),
       {.key = "pinning.map_by"}},
      {kPin, {"-membind"}, "preferred|bind|interleave|none",
       "memory placement of each rank",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::memory_bind>(),
       {.key = "pinning.memory"}},
      {kPin, {"-binding"}, "WORDS", "as in Intel MPI: pin=...;domain=...;order=...",
       into::text<&B::line, &CommandLine::pinning, &PinOptions::binding>()},
      {kPin, {"--comm-cores"}, "N", "reserve N cores of each rank for communication;\n"
       "default: 1 if each rank has 8 or more, else 0",
       into::whole<&B::line, &CommandLine::pinning, &PinOptions::comm_cores>(0, kMaxCommCores),
       {.key = "pinning.comm_cores", .in_file = FileValue::kInteger}},
  };
}
// clang-format on

}  // namespace

OptionRows start_rows() {
  return joined({where_options(), what_options(), pin_options()});
}

}  // namespace dtl
