#include "launcher/options/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/completion.h"
#include "base/text.h"
#include "launcher/options/subcommands.h"

namespace dtl {
namespace {

constexpr std::string_view kWhere = "Where to run";
constexpr std::string_view kWhat = "What to run";
constexpr std::string_view kPin = "How to pin ranks";
constexpr std::string_view kWatch = "How to watch it";
constexpr std::string_view kEnd = "How it ends";
constexpr std::string_view kAbout = "About dtlaunch";

constexpr std::size_t kHelpColumn = 24;  // where the explanations start

std::string option_line(const Option& option) {
  std::string left = "  ";
  for (const std::string_view name : option.names) {
    if (left.size() > 2) left += ", ";
    left += name;
  }
  if (!option.value.empty()) left += fmt::format(" {}", option.value);
  const std::string indent(kHelpColumn, ' ');
  if (left.size() + 2 > kHelpColumn) {
    left += "\n" + indent;
  } else {
    left.resize(kHelpColumn, ' ');
  }
  for (const char c : option.help) {
    left += c;
    if (c == '\n') left += indent;
  }
  return left + "\n";
}

}  // namespace

std::span<const Option> option_table() {
  static const std::vector<Option> kTable = {
      {kWhere,
       {"-f", "-machinefile", "-hostfile"},
       Takes::kValue,
       "FILE",
       "the hosts, one per line: see dtlaunch-hostfile(5);\n"
       "without hosts, this machine and no ssh"},
      {kWhere,
       {"-H", "-hosts"},
       Takes::kValue,
       "LIST",
       "the hosts themselves: a,b:2,n[01-04]",
       false,
       Scope::kProgram},
      {kWhere, {"--nnodes"}, Takes::kValue, "N", "use the first N hosts only"},
      {kWhere,
       {"-n", "-np"},
       Takes::kValue,
       "N",
       "ranks in all; default: every slot",
       false,
       Scope::kProgram},
      {kWhere,
       {"-N", "-perhost", "-ppn"},
       Takes::kValue,
       "N",
       "ranks on each host; overrides slots"},
      {kWhere, {"-rr"}, Takes::kNothing, "", "deal the ranks to the hosts one by one"},
      {kWhere, {"-grr"}, Takes::kValue, "N", "deal N ranks at a time to each host in turn"},
      {kWhere, {"-rankmap"}, Takes::kValue, "MAP", "the host of each rank: 0,0,1 or (0,4,2)"},
      {kWhere,
       {"--nolocal", "-skip-launch-node"},
       Takes::kNothing,
       "",
       "no ranks on this machine, though it is listed"},
      {kWhere, {"--oversubscribe"}, Takes::kNothing, "", "allow more ranks than slots"},
      {kWhere,
       {"--iface"},
       Takes::kValue,
       "NET[,NET]",
       "use these networks only: eth1, 10.0.0.0/24;\n"
       "or all but these: ^docker0"},
      {kWhere, {"--port-range"}, Takes::kValue, "LOW:HIGH", "listen on these TCP ports only"},
      {kWhere,
       {"-bootstrap", "-launcher"},
       Takes::kValue,
       "ssh|fork",
       "how agents start; fork: all hosts are this machine"},
      {kWhere,
       {"--accept-new-host-keys"},
       Takes::kNothing,
       "",
       "trust and remember hosts never seen before;\n"
       "a changed host key is refused all the same"},
      {kWhere, {"--push"}, Takes::kNothing, "", "bring dtagent to hosts that lack it, and dttrain"},

      {kWhat,
       {"-c", "--config"},
       Takes::kValue,
       "FILE",
       "the job file; default with no program given:\n"
       "./dtlaunch.toml, or else a short demonstration"},
      {kWhat,
       {"-genv"},
       Takes::kVariable,
       "VARIABLE VALUE",
       "set a variable for all ranks; VARIABLE=VALUE too",
       true},
      {kWhat,
       {"-env"},
       Takes::kVariable,
       "VARIABLE VALUE",
       "the same, for this program alone",
       true,
       Scope::kProgram},
      {kWhat, {"-genvall"}, Takes::kNothing, "", "ranks inherit the environment: the default"},
      {kWhat, {"-genvnone"}, Takes::kNothing, "", "ranks inherit nothing"},
      {kWhat, {"-genvlist"}, Takes::kValue, "VARIABLE,..", "ranks inherit these variables only"},
      {kWhat,
       {"-envall"},
       Takes::kNothing,
       "",
       "the same three for this program alone",
       false,
       Scope::kProgram},
      {kWhat, {"-envnone"}, Takes::kNothing, "", "", false, Scope::kProgram},
      {kWhat, {"-envlist"}, Takes::kValue, "VARIABLE,..", "", false, Scope::kProgram},
      {kWhat,
       {"-x"},
       Takes::kValue,
       "VARIABLE[=VALUE]",
       "pass or set a variable, as Open MPI does",
       true,
       Scope::kProgram},
      {kWhat,
       {"--compat"},
       Takes::kValue,
       "ompi|torchrun|horovod|deepspeed,..",
       "set another launcher's variables too"},
      {kWhat,
       {"--preload"},
       Takes::kValue,
       "tcmalloc|jemalloc|iomp,..",
       "load these libraries before all else"},
      {kWhat,
       {"-wdir"},
       Takes::kValue,
       "DIR",
       "working directory of the ranks",
       false,
       Scope::kProgram},
      {kWhat,
       {"-m"},
       Takes::kValue,
       "MODULE",
       "the program is: python3 -m MODULE",
       false,
       Scope::kProgram,
       true},
      {kWhat, {"-configfile"}, Takes::kValue, "FILE", "the programs, one a line: -n 2 a b c"},
      {kWhat, {"--dry-run"}, Takes::kNothing, "", "print the plan and start no rank"},

      {kPin,
       {"-bind-to"},
       Takes::kValue,
       "core|socket|numa|hwthread|l3cache|user:CPUS|none",
       "CPUS: 0-3,8; default: the cores divided evenly"},
      {kPin,
       {"-map-by"},
       Takes::kValue,
       "socket|numa|core|node|slot|ppr:N:WHAT|slot:PE=N",
       "where the next rank goes: ppr:2:socket, slot:PE=4"},
      {kPin,
       {"-membind"},
       Takes::kValue,
       "preferred|bind|interleave|none",
       "where the memory of a rank comes from"},
      {kPin, {"-binding"}, Takes::kValue, "WORDS", "pin=...;domain=...;order=... of Intel MPI"},
      {kPin,
       {"--comm-cores"},
       Takes::kValue,
       "N",
       "keep N cores of each rank for communication;\n"
       "default: 1 from 8 cores on, else 0"},

      {kWatch, {"-l", "-prepend-rank"}, Takes::kNothing, "", "put [rank] before every line"},
      {kWatch,
       {"-prepend-pattern"},
       Takes::kValue,
       "TEXT",
       "the same with %r rank, %g program, %p pid, %h host,\n"
       "%t time"},
      {kWatch, {"--tag-output"}, Takes::kNothing, "", "the same as [1,rank]<stdout>:"},
      {kWatch, {"--timestamp-output"}, Takes::kNothing, "", "put the date before every line"},
      {kWatch, {"--only"}, Takes::kValue, "RANKS", "show these alone: 0,3-5; or none"},
      {kWatch, {"--color"}, Takes::kValue, "auto|always|never", "of labels"},
      {kWatch, {"--fold"}, Takes::kNothing, "", "one line [0-7] for the same line of many ranks"},
      {kWatch, {"--no-fold"}, Takes::kNothing, "", "not so on a terminal, either"},
      {kWatch,
       {"--output"},
       Takes::kValue,
       "auto|block|skip",
       "block: ranks wait for slow readers; skip: never;\n"
       "default auto: for a moment"},
      {kWatch,
       {"-outfile-pattern"},
       Takes::kValue,
       "FILE",
       "standard output of ranks into files here: out.%r"},
      {kWatch, {"-errfile-pattern"}, Takes::kValue, "FILE", "the same for standard error"},
      {kWatch,
       {"--log-dir"},
       Takes::kValue,
       "DIR",
       "keep all output on the nodes, in DIR/JOB/rank.N.out"},
      {kWatch, {"--stdin"}, Takes::kValue, "all|none|N", "the rank that gets standard input"},
      {kWatch,
       {"--detach"},
       Takes::kNothing,
       "",
       "go on in the background once the ranks run, and print\n"
       "the job's id: see dtlaunch-jobs(1)"},
      {kWatch, {"--report"}, Takes::kValue, "FILE", "write what happened as JSON"},
      {kWatch, {"-v", "--verbose"}, Takes::kNothing, "", "say more; -vv: much more", true},

      {kEnd, {"--timeout"}, Takes::kValue, "SECONDS", "end the job after this; status 124"},
      {kEnd, {"--grace"}, Takes::kValue, "SECONDS", "from SIGTERM to SIGKILL; default 5"},

      {kAbout, {"-h", "--help"}, Takes::kNothing, "", "this text; the whole of it: dtlaunch(1)"},
      {kAbout,
       {"-V", "--version"},
       Takes::kNothing,
       "",
       "version of dtlaunch and of its protocol;\n"
       "with -v also of the libraries inside"},
      {kAbout, {"--show-limits"}, Takes::kNothing, "", "every wait and bound, with its value"},
      {kAbout,
       {"--completion"},
       Takes::kValue,
       kShells,
       "the shell's script that completes command lines:\n"
       "eval \"$(dtlaunch --completion bash)\""},
  };
  return kTable;
}

std::string_view bare_name(std::string_view spelled) {
  const std::size_t first = spelled.find_first_not_of('-');
  return first == std::string_view::npos ? std::string_view{} : spelled.substr(first);
}

namespace {

// torchrun's people write --nproc_per_node as well as --nproc-per-node.
std::string plain(std::string_view word) {
  std::string name = to_lower(word);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

const Option* find_option(std::span<const Option> table, std::string_view spelled) {
  const std::string_view word = bare_name(spelled);
  for (const Option& option : table) {
    for (const std::string_view name : option.names) {
      const std::string_view bare = bare_name(name);
      if (bare == word) return &option;
      if (word.size() > 1 && plain(word) == bare) return &option;
    }
  }
  return nullptr;
}

std::string nearest_option(std::span<const Option> table, std::string_view spelled) {
  std::vector<std::string> bare, documented;
  for (const Option& option : table) {
    for (const std::string_view name : option.names) {
      bare.emplace_back(bare_name(name));
      documented.emplace_back(name);
    }
  }
  const std::string found = nearest(to_lower(bare_name(spelled)), bare);
  for (std::size_t i = 0; i < bare.size(); ++i) {
    if (!found.empty() && bare[i] == found) return documented[i];
  }
  return {};
}

std::string options_text(std::span<const Option> table) {
  std::string text;
  std::string_view group;
  for (const Option& option : table) {
    if (option.group != group) text += fmt::format("\n{}\n", group = option.group);
    text += option_line(option);
  }
  return text;
}

std::string help_text() {
  std::string text =
      "usage: dtlaunch [options] program [argument ...] [: [options] program ...]\n"
      "       dtlaunch [options]\n"
      "Starts ranks on one or many hosts, pins them, and ends all of them together.\n"
      "Options take one dash or two, and -option=value; the program comes after them.\n";
  text += options_text(option_table());
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
