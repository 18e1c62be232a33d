// What counts is the name that the caller typed, argv[0]; /proc/self/exe is dtlaunch in any case.
#include "launcher/options/foreign_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/options/command_line.h"
#include "launcher/options/foreign_options.h"
#include "launcher/options/foreign_words.h"
#include "launcher/options/options.h"

namespace dtl {
namespace {

// In the order of CalledAs, without kDtlaunch.
constexpr std::string_view kPrograms[] = {"mpirun", "mpiexec", "mpiexec.hydra", "torchrun"};

std::string_view name_of(CalledAs called) {
  return kPrograms[static_cast<std::size_t>(called) - 1];
}

// Whether the line has this option of another launcher, in any spelling.
bool has_foreign(const OptionWords& words, std::string_view name) {
  const ForeignOption* const wanted = find_foreign_option(name);
  return std::any_of(words.foreign.begin(), words.foreign.end(), [&](const std::string& spelled) {
    return find_foreign_option(spelled) == wanted;
  });
}

// "-S", "--s" and "-s" are the same word.
bool is_spelled(const std::string& spelled, std::string_view name) {
  return to_lower(bare_name(spelled)) == name;
}

// Whether these words are nothing but options, with all their values. -m MODULE is a program.
bool are_options(std::vector<std::string> words) {
  try {
    const OptionWords read = read_option_words(option_table().options(), words, job_manner());
    return read.rest.empty() && !read.has("-m");
  } catch (const Error&) {
    return false;
  }
}

bool names_hosts(const CommandLine& line) {
  return !line.hosts.empty() || !line.hostfile.empty() || !line.discover.empty() ||
         !line.job_file.empty();
}

bool has_number_of_ranks(const CommandLine& line) {
  const Placement& place = line.placement;
  return place.ranks || place.rank_range || place.ranks_per_node || place.deal ||
         !place.rank_map.empty();
}

bool has_number_of_nodes(const CommandLine& line) {
  return line.placement.nodes || line.placement.node_range;
}

const std::string* find_variable(const Variables& environment, std::string_view name) {
  const auto at = std::find_if(environment.begin(), environment.end(),
                               [name](const auto& each) { return each.first == name; });
  return at == environment.end() ? nullptr : &at->second;
}

// PET_NPROC_PER_NODE is torchrun's default for --nproc-per-node.
void take_ranks_per_node(const std::string& value, CommandLine& line) {
  const std::string word = to_lower(value);
  if (word == "auto" || word == "cpu") return;  // every slot
  const auto number = parse_integer(value, 1, kMaxRanks);
  if (!number) {
    throw option_error(fmt::format("PET_NPROC_PER_NODE={}", one_shell_word(value)),
                       fmt::format("not a whole number (1 to {}), auto or cpu", kMaxRanks),
                       "--nproc-per-node 2");
  }
  line.placement.ranks_per_node = static_cast<int>(*number);
}

// What a word of the table means here and elsewhere; empty: all launchers of this name agree.
std::string_view meaning_taken(CalledAs called, const GivenOption& given, const CommandLine& line) {
  const std::string_view name = given.option->names.back();
  const bool maybe_open_mpi = called == CalledAs::kMpirun || called == CalledAs::kMpiexec;
  if (maybe_open_mpi && name == "--stdin" && is_spelled(given.spelled, "s"))
    return "taken as Hydra's, the rank that reads standard input; Open MPI's copies the program";
  if (maybe_open_mpi && name == "--config" && is_spelled(given.spelled, "c") &&
      !line.job_file.empty())
    return "taken as dtlaunch's job file; Open MPI's -c is the number of ranks";
  if (maybe_open_mpi && name == "--max-restarts" && line.restarts.max.value_or(0) > 0)
    return "taken as torchrun's, which starts all ranks again; Open MPI's starts the failed one";
  // Open MPI and Hydra count the names, Intel MPI counts cores.
  if (name == "-hosts" && given.value.find(':') == std::string::npos && !has_number_of_ranks(line))
    return "without a number of ranks, taken as Intel MPI's, a rank on each core; Open MPI and "
           "Hydra "
           "start one for each name";
  return {};
}

}  // namespace

std::span<const std::string_view> foreign_programs() {
  return kPrograms;
}

CalledAs called_as(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto found = std::find(std::begin(kPrograms), std::end(kPrograms), name);
  if (found == std::end(kPrograms)) return CalledAs::kDtlaunch;
  return static_cast<CalledAs>(found - std::begin(kPrograms) + 1);
}

bool take_module_flag(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const bool flag = arguments[i] == "-m" || arguments[i] == "--module";
    if (!flag || !arguments[i + 1].starts_with('-')) continue;
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    if (!are_options({arguments.begin(), at})) return false;  // one of the program
    arguments.erase(at);
    return true;
  }
  return false;
}

void run_with_python(const OptionWords& words, bool module, const Variables& environment,
                     ProgramLine& program) {
  std::vector<std::string>& command = program.command;
  if (command.empty() || has_foreign(words, "no-python")) return;
  // -m MODULE has put "python3 -m MODULE" there.
  if (words.has("-m")) command.erase(command.begin(), command.begin() + 2);
  const std::string* said = find_variable(environment, "PYTHON_EXEC");
  // -u: otherwise Python keeps output to a pipe until its buffer is full.
  std::vector<std::string> python = {said == nullptr ? "python3" : *said, "-u"};
  if (module || words.has("-m")) python.emplace_back("-m");
  command.insert(command.begin(), python.begin(), python.end());
}

void take_torchrun_defaults(const OptionWords& words, const Variables& environment,
                            CommandLine& line) {
  // On its own it starts ranks on this host alone, also in a scheduler's job with several.
  // PET_NNODES is set in pods (plan/schedulers/kubernetes.cc).
  const bool has_nodes =
      has_number_of_nodes(line) || find_variable(environment, "PET_NNODES") != nullptr;
  const bool is_one = has_foreign(words, "standalone") || !has_nodes;
  if (is_one && !names_hosts(line) && !line.starting.scheduler) {
    line.starting.scheduler = static_cast<const Scheduler*>(nullptr);
  }
  // --nproc-per-node auto leaves no number.
  if (has_number_of_ranks(line) || has_foreign(words, "nproc-per-node")) return;
  const std::string* ranks = find_variable(environment, "PET_NPROC_PER_NODE");
  take_ranks_per_node(ranks == nullptr ? "1" : *ranks, line);
}

void check_program(CalledAs called, const CommandLine& line) {
  if (called == CalledAs::kDtlaunch || line.action != Action::kRun) return;
  const bool named =
      !line.programs[0].command.empty() || !line.program_file.empty() || !line.job_file.empty();
  if (named) return;
  if (line.program_taken) throw *line.program_taken;
  throw option_error(std::string(name_of(called)), "a program is missing",
                     called == CalledAs::kTorchrun
                         ? "torchrun --nproc-per-node 2 train.py"
                         : fmt::format("{} -n 2 PROGRAM", name_of(called)));
}

std::vector<std::string> meanings_taken(CalledAs called, const OptionWords& words,
                                        const CommandLine& line) {
  std::vector<std::string> lines;
  // torchrun's words have one meaning, and it is taken.
  if (called == CalledAs::kDtlaunch || called == CalledAs::kTorchrun) return lines;
  for (const GivenOption& given : words.options) {
    const std::string_view meaning = meaning_taken(called, given, line);
    if (!meaning.empty()) lines.push_back(fmt::format("{}: {}", typed_form(given), meaning));
  }
  for (const std::string& spelled : words.foreign) {
    if (is_spelled(spelled, "t"))
      lines.push_back(fmt::format(
          "{}: taken as torchrun's --tee, and left out; Intel MPI's -t is -trace", spelled));
  }
  return lines;
}

}  // namespace dtl
