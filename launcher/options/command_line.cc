#include "launcher/options/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/cli11_adapter.h"
#include "launcher/options/environment_options.h"
#include "launcher/options/option_words.h"
#include "launcher/options/options.h"
#include "launcher/options/program_lines.h"
#include "plan/dialect_variables.h"
#include "plan/pin_binding.h"
#include "plan/pin_request.h"
#include "plan/pinning.h"
#include "plan/placement.h"
#include "plan/preload.h"

namespace dtl {
namespace {

std::string check_seconds(const std::string& text, double low) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool number = end == text.c_str() + text.size() && std::isfinite(seconds);
  if (number && seconds >= low && seconds <= 1e7) return {};
  return fmt::format("'{}' is no number of seconds from {} to 10000000", text, low);
}

std::string check_count(const std::string& text) {
  if (parse_integer(text, 1, kMaxRanks)) return {};
  return fmt::format("'{}' is no number from 1 to {}", text, kMaxRanks);
}

// torchrun's "2:2" is 2.
std::string check_nodes(std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != text.npos) {
    if (text.substr(0, colon) != text.substr(colon + 1)) {
      return fmt::format("'{}': a job has the hosts that it starts with", text);
    }
    text.resize(colon);
  }
  return check_count(text);
}

std::string check_comm_cores(const std::string& text) {
  if (parse_integer(text, 0, kMaxCommCores)) return {};
  return fmt::format("'{}' is no number from 0 to {}", text, kMaxCommCores);
}

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

// What CLI11 fills in before it becomes a CommandLine.
struct Raw {
  CommandLine line;
  bool help = false, version = false, show_limits = false;
  ProgramLine program;
  std::string module;
  std::string rank_map, compat, preload, agent_start, port_range;
  bool round_robin = false, ignored = false;
  std::vector<std::string> genv, env;  // read as words, in order
  double timeout = 0, grace = -1;      // not given
};

void define_output(Cli11Adapter& app, OutputChoice& shown) {
  app.flag("--prepend-rank", shown.prepend_rank);
  app.option("--prepend-pattern", shown.pattern);
  app.flag("--tag-output", shown.tag);
  app.flag("--timestamp-output", shown.time);
  app.option("--only", shown.only);
  app.option("--color", shown.color);
  app.flag("--fold", shown.fold);
  app.flag("--no-fold", shown.no_fold);
  app.option("--output", shown.mode);
  app.option("--outfile-pattern", shown.outfile);
  app.option("--errfile-pattern", shown.errfile);
  app.option("--log-dir", shown.log_directory);
  app.option("--stdin", shown.input);
}

void define(Cli11Adapter& app, Raw& raw) {
  CommandLine& line = raw.line;
  const CLI::Validator count(check_count, "N");
  app.option("--hostfile", line.hostfile);
  app.option("--hosts", line.hosts);
  app.option("--nnodes", line.nodes, CLI::Validator(check_nodes, "N"));
  app.option("--np", raw.program.ranks, count);
  app.option("--ppn", line.ranks_per_node, count);
  app.flag("--oversubscribe", line.oversubscribe);
  app.flag("--rr", raw.round_robin);
  app.option("--grr", line.deal, count);
  app.option("--rankmap", raw.rank_map);
  app.flag("--skip-launch-node", line.skip_launch_host);
  app.flag("--genvall", raw.ignored);
  app.flag("--genvnone", raw.ignored);
  app.option("--genvlist", raw.env);
  app.flag("--envall", raw.ignored);
  app.flag("--envnone", raw.ignored);
  app.option("--envlist", raw.env);
  app.option("--x", raw.env);
  app.option("--compat", raw.compat);
  app.option("--preload", raw.preload);
  app.option("--iface", line.interface);
  app.option("--port-range", raw.port_range);
  app.option("--launcher", raw.agent_start);
  app.option("--bind-to", line.pinning.bind_to);
  app.option("--map-by", line.pinning.map_by);
  app.option("--membind", line.pinning.memory_bind);
  app.option("--binding", line.pinning.binding);
  app.option("--comm-cores", line.comm_cores, CLI::Validator(check_comm_cores, "N"));
  app.flag("--accept-new-host-keys", line.accept_new_host_keys);
  app.flag("--push", line.push);
  app.option("--config", line.job_file);
  app.option("--configfile", line.program_file);
  app.option("--genv", raw.genv);
  app.option("--env", raw.env);
  app.option("--wdir", raw.program.working_directory);
  app.option("--m", raw.module);
  app.flag("--dry-run", line.dry_run);
  app.flag("--detach", line.detach);
  define_output(app, line.shown);
  app.option("--report", line.report);
  app.flag("--verbose", line.verbosity);
  app.option("--timeout", raw.timeout,
             CLI::Validator([](std::string& text) { return check_seconds(text, 0.001); }, "S"));
  app.option("--grace", raw.grace,
             CLI::Validator([](std::string& text) { return check_seconds(text, 0); }, "S"));
  app.flag("--help", raw.help);
  app.flag("--version", raw.version);
  app.flag("--show-limits", raw.show_limits);
  app.option("--completion", line.shell);
}

Variables variables_of(const OptionWords& words, std::string_view option) {
  Variables set;
  for (const GivenOption& given : words.options) {
    if (given.option->names.back() != option) continue;
    const std::size_t equals = given.value.find('=');
    set.emplace_back(given.value.substr(0, equals), given.value.substr(equals + 1));
  }
  return set;
}

// One block: the options up to the program, and the program up to ":" or the end.
struct Block {
  OptionWords words;
  bool another = false;  // a ":" ended it
};

std::vector<Block> read_blocks(std::vector<std::string> arguments) {
  std::vector<Block> blocks;
  do {
    Block block;
    block.words =
        read_option_words(option_table(), arguments, "dtlaunch --help", Foreign::kUnderstood);
    std::vector<std::string>& rest = block.words.rest;
    const auto colon = std::find(rest.begin(), rest.end(), ":");
    block.another = colon != rest.end();
    arguments.clear();
    if (block.another) arguments.assign(colon + 1, rest.end());
    rest.erase(colon, rest.end());
    blocks.push_back(std::move(block));
  } while (blocks.back().another);
  return blocks;
}

void check_blocks(const std::vector<Block>& blocks) {
  if (blocks.size() == 1) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].words.rest.empty() && !blocks[i].words.has("-m")) {
      throw Error(Exit::kUsage,
                  fmt::format("there is no program {} ':'", i == 0 ? "before" : "after"), "",
                  "dtlaunch -n 1 a : -n 2 b");
    }
    for (const GivenOption& given : blocks[i].words.options) {
      if (i == 0 || given.option->scope == Scope::kProgram) continue;
      throw Error(Exit::kUsage, fmt::format("option '{}' after ':'", given.option->names.back()),
                  "it is for the whole job", "put it before the first program");
    }
  }
}

// Open MPI's `-c 4` is a number of ranks, and no job file has a number for its name.
void take_count_from_c(Raw& raw) {
  const auto count = parse_integer(raw.line.job_file, 1, kMaxRanks);
  if (!count || raw.program.ranks) return;
  raw.program.ranks = static_cast<int>(*count);
  raw.line.job_file.clear();
}

// -map-by node and ppr:N:node say which host a rank goes to, beside what it gets there.
void take_placement_of_map(CommandLine& line) {
  const MapPlacement placement = placement_of_map(line.pinning.map_by);
  if (!line.deal && placement.round_robin) line.deal = 1;
  if (!line.ranks_per_node) line.ranks_per_node = placement.ranks_per_node;
}

// CLI11 names the canonical form: "--np: '0' is no number" -> "option '-n': '0' is no number".
Error as_typed(const std::string& message, const OptionWords& words) {
  for (const GivenOption& given : words.options) {
    const std::string canonical = fmt::format("--{}: ", bare_name(given.option->names.back()));
    if (given.spelled.empty() || !message.starts_with(canonical)) continue;
    return Error(Exit::kUsage, fmt::format("option '{}'", given.spelled),
                 message.substr(canonical.size()), "dtlaunch --help");
  }
  return Error(Exit::kUsage, message, "", "dtlaunch --help");
}

Raw parse_options(const OptionWords& words) {
  std::vector<std::string> options;
  for (const GivenOption& given : words.options) options.push_back(canonical_form(given));
  Raw raw;
  CLI::App app;
  app.set_help_flag();
  Cli11Adapter definitions(app, words);
  define(definitions, raw);
  if (words.has("-hostfile") && words.has("-hosts")) {
    throw Error(Exit::kUsage, "-hosts and -hostfile are both given", "name the hosts once");
  }
  try {
    // CLI11 takes the words last first.
    app.parse(std::vector<std::string>(options.rbegin(), options.rend()));
  } catch (const CLI::ParseError& error) {
    throw as_typed(error.what(), words);
  }
  if (raw.timeout > 0) raw.line.timeout = to_milliseconds(raw.timeout);
  if (raw.grace >= 0) raw.line.grace = to_milliseconds(raw.grace);
  take_count_from_c(raw);
  if (raw.round_robin && !raw.line.deal) raw.line.deal = 1;
  take_placement_of_map(raw.line);
  if (!raw.agent_start.empty()) raw.line.agent_start = parse_agent_start(raw.agent_start);
  if (!raw.port_range.empty()) raw.line.ports = parse_port_range(raw.port_range);
  if (!raw.compat.empty()) raw.line.compat = parse_dialects(raw.compat);
  if (!raw.preload.empty()) raw.line.preload = parse_preloads(raw.preload);
  if (!raw.rank_map.empty()) raw.line.rank_map = parse_rank_map(raw.rank_map);
  return raw;
}

// -genvall, -genvnone and -genvlist with prefix "-genv", and the same with "-env"; the last wins.
std::optional<Inheritance> inheritance_of(const OptionWords& words, const std::string& prefix) {
  std::optional<Inheritance> inheritance;
  for (const GivenOption& given : words.options) {
    const std::string_view name = given.option->names.back();
    if (!name.starts_with(prefix)) continue;
    const std::string rest(name.substr(prefix.size()));
    const auto said = parse_inheritance(rest == "list" ? "list:" + given.value : rest);
    if (said) inheritance = said;
  }
  return inheritance;
}

// Open MPI's -x NAME=VALUE sets, -x NAME passes on.
void take_exports(const OptionWords& words, ProgramLine& program) {
  for (const GivenOption& given : words.options) {
    if (given.option->names.back() != "-x") continue;
    const std::size_t equals = given.value.find('=');
    if (equals == std::string::npos) {
      program.passed.push_back(given.value);
    } else {
      program.set.emplace_back(given.value.substr(0, equals), given.value.substr(equals + 1));
    }
  }
}

ProgramLine program_of(Raw& raw, const OptionWords& words) {
  ProgramLine program = std::move(raw.program);
  program.set = variables_of(words, "-env");
  program.inheritance = inheritance_of(words, "-env");
  take_exports(words, program);
  program.command = words.rest;
  if (!raw.module.empty()) {
    program.command.insert(program.command.begin(), {"python3", "-m", raw.module});
  }
  return program;
}

// The ranks of the whole line: those of its programs together, if there are several.
void add_up_ranks(CommandLine& line) {
  if (line.programs.size() == 1) {
    line.ranks = line.programs[0].ranks;
    return;
  }
  int ranks = 0;
  for (const ProgramLine& program : line.programs) ranks += program.ranks.value_or(1);
  line.ranks = ranks;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Variables& environment) {
  std::vector<Block> blocks = read_blocks(arguments);
  add_environment(environment, blocks[0].words, [](const OptionWords& words) {
    parse_pin_request(parse_options(words).line.pinning, {});
  });
  check_blocks(blocks);
  Raw raw = parse_options(blocks[0].words);
  CommandLine line = std::move(raw.line);
  if (!line.shell.empty()) line.action = Action::kCompletion;
  if (raw.show_limits) line.action = Action::kShowLimits;
  if (raw.version) line.action = Action::kVersion;
  if (raw.help) line.action = Action::kHelp;
  line.set = variables_of(blocks[0].words, "-genv");
  line.inheritance = inheritance_of(blocks[0].words, "-genv");
  for (const Block& block : blocks) {
    line.notes.insert(line.notes.end(), block.words.notes.begin(), block.words.notes.end());
    line.warnings.insert(line.warnings.end(), block.words.warnings.begin(),
                         block.words.warnings.end());
  }
  line.programs = {program_of(raw, blocks[0].words)};
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    Raw own = parse_options(blocks[i].words);
    line.programs.push_back(program_of(own, blocks[i].words));
    line.programs.back().hosts = own.line.hosts;
    if (!own.line.hosts.empty() && !line.hosts.empty()) {
      line.programs[0].hosts = std::exchange(line.hosts, {});
    }
  }
  add_up_ranks(line);
  return line;
}

void take_programs(CommandLine& line, std::vector<ProgramLine> programs) {
  if (line.ranks && programs.size() > 1) {
    throw Error(Exit::kUsage, fmt::format("-np {}", *line.ranks),
                "there are several programs, and each has its own ranks", "leave it out");
  }
  const ProgramLine all = line.programs[0];
  for (ProgramLine& program : programs) {
    program.set.insert(program.set.end(), all.set.begin(), all.set.end());
    program.passed.insert(program.passed.end(), all.passed.begin(), all.passed.end());
    if (all.ranks) program.ranks = all.ranks;
    if (all.inheritance) program.inheritance = all.inheritance;
    if (!all.working_directory.empty()) program.working_directory = all.working_directory;
  }
  line.programs = std::move(programs);
  add_up_ranks(line);
}

void add_program_file(CommandLine& line, std::string_view text, const std::string& path) {
  if (line.programs.size() > 1 || !line.programs[0].command.empty()) {
    throw Error(Exit::kUsage, fmt::format("-configfile {}", path),
                "a program is given on the command line too", "one of the two");
  }
  line.programs.clear();
  for (const FileLine& each : read_program_lines(text, path)) {
    try {
      const std::vector<Block> blocks = read_blocks(each.words);
      Block first;  // options of the whole job belong on the command line
      first.words.rest = {"a"};
      for (const Block& block : blocks) {
        check_blocks({first, block});
        Raw raw = parse_options(block.words);
        line.programs.push_back(program_of(raw, block.words));
        line.programs.back().hosts = raw.line.hosts;
      }
    } catch (const Error& error) {
      const std::string where = fmt::format("{}:{}", path, each.number);
      if (error.reason().empty()) {
        throw Error(Exit::kBadInput, where, error.attempted(), error.hint());
      }
      throw Error(Exit::kBadInput, where + ": " + error.attempted(), error.reason(), error.hint());
    }
  }
  if (line.programs.empty()) {
    throw Error(Exit::kBadInput, path + ":1", "the file names no program", "-n 2 python3 train.py");
  }
  add_up_ranks(line);
}

}  // namespace dtl
