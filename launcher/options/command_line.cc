// Three steps: split the words into blocks at ":", parse each block with the table of options, and
// combine the blocks. The tables hold single options; this file checks what concerns several
// options or programs.
#include "launcher/options/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/environment_options.h"
#include "launcher/options/foreign_options.h"
#include "launcher/options/foreign_program.h"
#include "launcher/options/foreign_words.h"
#include "launcher/options/help.h"
#include "launcher/options/options.h"
#include "launcher/options/program_lines.h"
#include "plan/pinning/pin_binding.h"
#include "plan/pinning/pin_request.h"
#include "plan/pinning/pinning.h"

namespace dtl {
namespace {

// One block: the options up to the program, and the program up to ":" or the end.
struct Block {
  OptionWords words;
  bool another = false;  // a ":" ended it
};

// Returns at least one block, which may be empty. torchrun's line has one, with any ":" in it.
std::vector<Block> read_blocks(std::vector<std::string> arguments,
                               CalledAs called = CalledAs::kDtlaunch) {
  std::vector<Block> blocks;
  do {
    Block block;
    block.words = read_option_words(option_table().options(), arguments, job_manner());
    std::vector<std::string>& rest = block.words.rest;
    // Searches only the words after the options: a ":" that is an option's value is not a
    // separator.
    const auto colon =
        called == CalledAs::kTorchrun ? rest.end() : std::find(rest.begin(), rest.end(), ":");
    block.another = colon != rest.end();
    arguments.clear();
    if (block.another) arguments.assign(colon + 1, rest.end());
    rest.erase(colon, rest.end());
    blocks.push_back(std::move(block));
  } while (blocks.back().another);
  return blocks;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// -genv NAME VALUE took the last words, and a program does not follow: VALUE was meant as one.
std::optional<Error> program_taken_by_variable(const OptionWords& words) {
  if (!words.rest.empty() || words.options.empty() || words.has("-m")) return std::nullopt;
  const GivenOption& last = words.options.back();
  if (!last.value_apart) return std::nullopt;
  const std::size_t equals = last.value.find('=');
  const std::string name = last.value.substr(0, equals);
  const std::string value = one_shell_word(last.value.substr(equals + 1));
  const bool secret = looks_secret(name);
  std::string command = "dtlaunch";
  for (const GivenOption& given : words.options) {
    if (&given != &last) command += " " + typed_form(given);
  }
  const bool names_program = std::any_of(value.begin(), value.end(), is_letter);
  command += secret || names_program
                 ? fmt::format(" {} {}=VALUE {}", last.spelled, name, secret ? "PROGRAM" : value)
                 : fmt::format(" {} {} {} PROGRAM", last.spelled, name, value);
  return option_error(typed_form(last),
                      fmt::format("{} is the value of {}, and a program does not follow",
                                  secret ? "the last word" : value, name),
                      command);
}

void check_blocks(const std::vector<Block>& blocks) {
  if (blocks.size() == 1) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // -m MODULE is a whole program by itself.
    if (blocks[i].words.rest.empty() && !blocks[i].words.has("-m")) {
      if (const auto taken = program_taken_by_variable(blocks[i].words)) throw *taken;
      throw option_error(":",
                         fmt::format("a program is missing {} it", i == 0 ? "before" : "after"),
                         "dtlaunch -n 1 a : -n 2 b");
    }
    for (const GivenOption& given : blocks[i].words.options) {
      // Options of the whole job belong before the first program. After a ":" a reader would take
      // them for options of that program.
      if (i == 0 || given.option->traits.scope == Scope::kProgram) continue;
      const bool names_programs = given.option->names.back() == "-configfile";
      throw option_error(typed_form(given),
                         names_programs ? "after ':', and its file names all programs of the job"
                                        : "after ':', and it is for the whole job",
                         names_programs ? typed_form(given) + " without a program"
                                        : fmt::format("dtlaunch {} ..., before the first program",
                                                      typed_form(given)));
    }
  }
}

// In a program file, a block may have only the options of a program.
void check_file_block(const Block& block) {
  for (const GivenOption& given : block.words.options) {
    if (given.option->traits.scope == Scope::kProgram) continue;
    const bool names_programs = given.option->names.back() == "-configfile";
    throw option_error(
        typed_form(given),
        names_programs ? "this file names all programs of the job" : "it is for the whole job",
        names_programs ? "all programs in one file"
                       : fmt::format("dtlaunch {} -configfile FILE", typed_form(given)));
  }
}

// Each node would start its own job, with the only node that it sees.
void check_rendezvous(const OptionWords& words, const CommandLine& line) {
  const bool meets =
      std::any_of(words.foreign.begin(), words.foreign.end(), [](const std::string& spelled) {
        return find_foreign_option(spelled) == find_foreign_option("rdzv-endpoint");
      });
  const bool names_hosts = !line.hosts.empty() || !line.hostfile.empty() ||
                           !line.discover.empty() || !line.job_file.empty();
  if (!meets || names_hosts || !line.placement.node_range) return;
  const SizeRange& range = *line.placement.node_range;
  throw option_error(fmt::format("--nnodes {}:{}", range.least, range.most),
                     "one dtlaunch starts the ranks of all nodes, and has to know them",
                     "-f FILE with the nodes, in one dtlaunch for all of them");
}

// Open MPI's `-c 4` is a number of ranks; a job file's name is never a number.
void take_count_from_c(BlockOptions& raw) {
  const auto count = parse_integer(raw.line.job_file, 1, kMaxRanks);
  if (!count || raw.program.ranks) return;
  raw.program.ranks = static_cast<int>(*count);
  raw.line.job_file.clear();
}

// -map-by node and ppr:N:node also say which host a rank runs on, slot:OVERSUBSCRIBE how many do.
void take_placement_of_map(CommandLine& line) {
  const MapPlacement placement = placement_of_map(line.pinning.map_by);
  // -grr, -rr and -ppn are more explicit than -map-by, and win.
  if (!line.placement.deal && placement.round_robin) line.placement.deal = 1;
  if (!line.placement.ranks_per_node) line.placement.ranks_per_node = placement.ranks_per_node;
  if (placement.oversubscribe) line.placement.oversubscribe = true;
}

void refuse_both(const OptionWords& words, std::string_view one, std::string_view other) {
  if (!words.has(one) || !words.has(other)) return;
  throw option_error(std::string(one), fmt::format("{} names hosts as well", other),
                     fmt::format("{} or {}, not both", one, other));
}

BlockOptions parse_options(const OptionWords& words) {
  refuse_both(words, "-hostfile", "-hosts");
  refuse_both(words, "--discover", "-hosts");
  refuse_both(words, "--discover", "-hostfile");
  BlockOptions block;
  option_table().apply(words.options, block, help_command);
  take_count_from_c(block);
  if (block.round_robin && !block.line.placement.deal) block.line.placement.deal = 1;
  take_placement_of_map(block.line);
  // Appended, because -m has put "python3 -m MODULE" there already.
  block.program.command.insert(block.program.command.end(), words.rest.begin(), words.rest.end());
  return block;
}

// Whether the line is in torchrun's spelling, which runs a bare script with python3. Only options
// that no other launcher has count. --no-python says that the program is not Python's.
bool speaks_torchrun(const OptionWords& words) {
  constexpr std::string_view kWords[] = {"nproc-per-node", "node-rank",        "master-addr",
                                         "master-port",    "standalone",       "max-restarts",
                                         "rdzv-backend",   "rdzv-endpoint",    "rdzv-id",
                                         "rdzv-conf",      "monitor-interval", "use-env"};
  bool theirs = false;
  for (const std::string& spelled : words.foreign) {
    std::string name = to_lower(bare_name(spelled));
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == "no-python") return false;
    theirs |= std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
  }
  return theirs;
}

// Whether the line sets this option, in any spelling.
bool is_said(const CommandLine& line, std::string_view option) {
  const auto given = [&](std::string_view name) { return line.is_given(name); };
  // Groups that come from one source as a whole; see add_options().
  if (option == "-hostfile" || option == "-hosts" || option == "--discover") {
    return given("-hostfile") || given("-hosts") || given("--discover");
  }
  if (option == "-grr" || option == "-rankmap")
    return line.placement.deal || !line.placement.rank_map.empty();
  if (option == "-ppn") return line.placement.ranks_per_node.has_value();
  return given(option);
}

// The ranks of the whole line: the sum over its programs.
void add_up_ranks(CommandLine& line) {
  if (line.programs.size() == 1) {
    line.placement.ranks = line.programs[0].ranks;
    line.placement.rank_range = line.programs[0].rank_range;
    return;
  }
  for (const ProgramLine& program : line.programs) {
    if (!program.rank_range) continue;
    throw option_error(
        fmt::format("-np {}:{}", program.rank_range->least, program.rank_range->most),
        "with several programs each has a fixed number of ranks", "-np N for each of them");
  }
  int ranks = 0;
  // As with mpirun, each of several programs without a number has one rank. A single program
  // without a number takes all slots, which the plan decides.
  for (const ProgramLine& program : line.programs) ranks += program.ranks.value_or(1);
  line.placement.ranks = ranks;
}

// The option without its number that the program follows, as typed; empty: none.
std::string option_missing_number(const OptionWords& words) {
  if (words.rest.empty() || words.options.empty()) return {};
  const GivenOption& last = words.options.back();
  const bool missing = last.option->takes == Takes::kPerhapsNumber && last.value.empty();
  return missing ? typed_form(last) : "";
}

// What torchrun's name says about a line; module: a flag -m was there.
void read_as_torchrun(const OptionWords& words, bool module, const Variables& environment,
                      CommandLine& line) {
  line.as_torchrun = false;
  run_with_python(words, module, environment, line.programs[0]);
  take_torchrun_defaults(words, environment, line);
}

CommandLine parse_blocks(std::vector<Block>& blocks, const Variables& environment) {
  // Of what was typed alone, as variables add options behind it.
  std::optional<Error> taken = program_taken_by_variable(blocks[0].words);
  std::string number_missing = option_missing_number(blocks[0].words);
  // Before the options are read, so variables go the same way as options. Each value is tried by
  // itself first: an error has to name the variable, not an option that nobody typed.
  add_environment(environment, blocks[0].words, [](const OptionWords& words) {
    parse_pin_request(parse_options(words).line.pinning, {});
  });
  check_blocks(blocks);
  BlockOptions first = parse_options(blocks[0].words);
  CommandLine line = std::move(first.line);
  line.given = typed_options(blocks[0].words.options);
  line.program_taken = std::move(taken);
  line.number_missing = std::move(number_missing);
  line.as_torchrun = speaks_torchrun(blocks[0].words);
  check_rendezvous(blocks[0].words, line);
  // The last one that applies wins: --help with anything else prints help.
  if (!line.shell.empty()) line.action = Action::kCompletion;
  if (first.show_scheduler) line.action = Action::kShowScheduler;
  if (first.show_limits) line.action = Action::kShowLimits;
  if (first.names) line.action = Action::kNames;
  if (first.version) line.action = Action::kVersion;
  if (first.help) line.action = Action::kHelp;
  if (first.help_all) line.action = Action::kHelpAll;
  // Other launchers' options may be in any block.
  for (const Block& block : blocks) {
    line.notes.insert(line.notes.end(), block.words.notes.begin(), block.words.notes.end());
    line.warnings.insert(line.warnings.end(), block.words.warnings.begin(),
                         block.words.warnings.end());
  }
  line.programs = {std::move(first.program)};
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    BlockOptions own = parse_options(blocks[i].words);
    line.programs.push_back(std::move(own.program));
    line.programs.back().hosts = own.line.hosts;
    // -host of the first block was parsed as the job's. Another program has hosts too, so it
    // belongs to the first program.
    if (!own.line.hosts.empty() && !line.hosts.empty()) {
      line.programs[0].hosts = std::exchange(line.hosts, {});
    }
  }
  add_up_ranks(line);
  return line;
}

}  // namespace

bool CommandLine::is_given(std::string_view canonical) const {
  return std::any_of(given.begin(), given.end(),
                     [&](const TypedOption& each) { return each.name == canonical; });
}

CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Variables& environment, CalledAs called) {
  std::vector<std::string> words = arguments;
  const bool torchrun = called == CalledAs::kTorchrun;
  const bool module = torchrun && take_module_flag(words);
  std::vector<Block> blocks = read_blocks(std::move(words), called);
  try {
    CommandLine line = parse_blocks(blocks, environment);
    if (torchrun) read_as_torchrun(blocks[0].words, module, environment, line);
    check_program(called, line);
    for (const Block& block : blocks) {
      const std::vector<std::string> taken = meanings_taken(called, block.words, line);
      line.warnings.insert(line.warnings.end(), taken.begin(), taken.end());
    }
    return line;
  } catch (const Error& error) {
    throw as_typed(error, typed_options(blocks[0].words.options));
  }
}

void add_options(CommandLine& line, const std::vector<GivenOption>& options) {
  std::vector<GivenOption> missing;
  for (const GivenOption& option : options) {
    if (!is_said(line, option.option->names.back())) missing.push_back(option);
  }
  BlockOptions block;
  block.line = std::move(line);
  option_table().apply(missing, block, help_command);
  // BlockOptions has a line of its own; the job's goes through it and comes back with the
  // additions.
  line = std::move(block.line);
  if (!line.placement.ranks) line.placement.ranks = block.program.ranks;
  if (!line.placement.rank_range) line.placement.rank_range = block.program.rank_range;
  const std::vector<TypedOption> added = typed_options(missing);
  line.given.insert(line.given.end(), added.begin(), added.end());
}

void take_programs(CommandLine& line, std::vector<ProgramLine> programs) {
  // It is not clear which of the programs would get them.
  if (line.placement.ranks && programs.size() > 1) {
    throw option_error(fmt::format("-np {}", *line.placement.ranks),
                       "there are several programs, and each has its own ranks",
                       "the same command without it");
  }
  // A line without programs has one entry, which holds what was said about all of them.
  const ProgramLine all = line.programs[0];
  for (ProgramLine& program : programs) {
    // After the file's variables: the last value of a variable wins, and the command line overrides
    // the file.
    program.set.insert(program.set.end(), all.set.begin(), all.set.end());
    program.passed.insert(program.passed.end(), all.passed.begin(), all.passed.end());
    if (all.ranks) program.ranks = all.ranks;
    if (all.rank_range) program.rank_range = all.rank_range;
    if (all.inheritance) program.inheritance = all.inheritance;
    if (!all.working_directory.empty()) program.working_directory = all.working_directory;
  }
  line.programs = std::move(programs);
  add_up_ranks(line);
}

void add_program_file(CommandLine& line, std::string_view text, const std::string& path) {
  if (line.programs.size() > 1 || !line.programs[0].command.empty()) {
    throw as_typed(option_error("-configfile", "a program is given on the command line as well",
                                fmt::format("dtlaunch -configfile {}", one_shell_word(path))),
                   line.given);
  }
  line.programs.clear();
  for (const FileLine& each : read_program_lines(text, path)) {
    try {
      const std::vector<Block> blocks = read_blocks(each.words);
      // check_blocks() expects several blocks. An empty first one makes it check a single program
      // too.
      Block first;
      first.words.rest = {"a"};
      for (const Block& block : blocks) {
        check_file_block(block);
        check_blocks({first, block});
        BlockOptions own = parse_options(block.words);
        line.programs.push_back(std::move(own.program));
        line.programs.back().hosts = own.line.hosts;
      }
    } catch (const Error& error) {
      // The parser's errors do not know the file, and have the status of a typing error.
      throw file_error(file_place(path, each.number), error.attempted(), error.reason(),
                       error.hint());
    }
  }
  if (line.programs.empty()) {
    throw file_error(file_place(path, 1), "", "the file names no program", "-n 2 python3 train.py");
  }
  add_up_ranks(line);
}

}  // namespace dtl
