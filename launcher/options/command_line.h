#pragma once
// CommandLine: what a user typed, as a value, in any of mpirun's spellings (`-np 4`, `--np=4`, `-NP
// 4`). The first word that is not an option begins the command, which stays untouched up to a word
// ":". After that another program begins, with its own options. launcher/request combines the
// options with the job file and the scheduler. Pure.

#include <optional>
#include <string>
#include <vector>

#include "base/options/option_words.h"
#include "launcher/options/foreign_program.h"
#include "launcher/options/inheritance.h"
#include "launcher/options/option_values.h"
#include "launcher/options/output_choice.h"
#include "plan/request/request.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// What the line asks for; all but kRun print something and exit.
enum class Action {
  kRun,
  kHelp,
  kHelpAll,
  kVersion,
  kShowLimits,
  kShowScheduler,
  kNames,
  kCompletion
};

// One block of `dtlaunch ... a : -n 2 b`.
struct ProgramLine {
  std::optional<int> ranks;
  std::optional<SizeRange> rank_range;     // -np MIN:MAX, instead of ranks
  std::optional<Inheritance> inheritance;  // -envall, -envnone, -envlist
  Variables set;                           // -env, in order
  std::vector<std::string> passed;         // -x NAME: with the value that it has here
  std::string hosts;                       // -host, if programs have their own hosts
  std::string working_directory;           // -wdir, as typed
  std::vector<std::string> command;
};

// How agents start on the hosts. Only dtlaunch uses it; the plan never sees it.
struct Starting {
  std::optional<const Scheduler*> scheduler;  // --scheduler; nullptr: none
  std::optional<AgentStart> agent_start;      // -launcher
  bool accept_new_host_keys = false;
  bool push = false;
  std::string sync;                // --sync: a folder, as typed
  std::string venv;                // --venv: "auto" or a folder, as typed
  std::optional<int> tree;         // --tree: a width; 0: none; absent: by the number of hosts
  std::optional<JobTime> timeout;  // --start-timeout

  // Without -launcher: ssh.
  AgentStart how() const { return agent_start.value_or(AgentStart{}); }
};

struct CommandLine {
  Action action = Action::kRun;
  std::string shell;            // --completion
  std::string hostfile, hosts;  // at most one of them
  std::string discover;         // --discover: a command or a file
  // Parts of a job (plan/request/job_parts.h), which the Request takes over unchanged.
  Placement placement;             // ranks: with several programs, 1 for each without a number
  PinOptions pinning;              // without I_MPI_PIN* of the environment
  EnvironmentOptions environment;  // inherited is still empty
  NetworkOptions network;
  Starting starting;
  Ending ending;
  RestartLimits restarts;
  Reporting reporting;
  std::string job_file;  // -c; empty: ./dtlaunch.toml when no program is given
  // "-genv FOO hostname" at the end of the line: the error for a job whose program nothing names.
  std::optional<Error> program_taken;
  // "--tree" of "--tree x": an option without its number, with the program right behind it.
  std::string number_missing;
  std::string program_file;  // -configfile: holds the programs, of which there are none here then
  std::optional<Inheritance> inheritance;  // -genvall, -genvnone, -genvlist
  std::string working_directory;           // -gwdir, as typed
  std::string container;                   // --container: an image; empty: none
  bool dry_run = false;
  bool json = false;  // with --dry-run, --version, --show-limits and --show-scheduler
  bool detach = false;
  OutputChoice shown;
  // The parser prints nothing; the caller shows warnings and notes.
  // Of variables that ask for what dtlaunch cannot do, and of words with several meanings.
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // for -v: ignored options of other launchers
  int verbosity = 0;               // 1: -v, 2: -vv
  // torchrun's spelling: python3 runs scripts that are not executable. Not under torchrun's name:
  // python3 is part of the program's command then.
  bool as_torchrun = false;
  // All options, with those of the first program, and then those of the job file that apply.
  std::vector<TypedOption> given;

  bool is_given(std::string_view canonical) const;
  std::vector<ProgramLine> programs = {{}};  // at least one; without a command, the first has none
};

// Parses a whole line. arguments: without argv[0]. environment: for variables of Hydra, Intel MPI
// and Open MPI; options on the line override them. called: the name that dtlaunch was started
// under. Throws Error(kUsage).
CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Variables& environment = {},
                               CalledAs called = CalledAs::kDtlaunch);

// Adds `options` (of a job file) where `line` does not set them. Two groups come from one source as
// a whole: the hosts, and how ranks are distributed to them. A mix of both sources would be a job
// that nobody described. Throws Error(kBadInput).
void add_options(CommandLine& line, const std::vector<GivenOption>& options);

// Replaces the programs of `line`, which must be empty, by `programs`, which must not. Options for
// programs on the line (-env, -wdir...) then apply to each of them. Throws Error(kUsage) for -np
// with several programs.
void take_programs(CommandLine& line, std::vector<ProgramLine> programs);

// Replaces the programs of `line`, which must be empty, by those of -configfile FILE. dtlaunch(1),
// PROGRAM FILES, has the format of the text. Throws Error(kBadInput) with "path:line".
void add_program_file(CommandLine& line, std::string_view text, const std::string& path);

}  // namespace dtl
