#pragma once
// CommandLine: what a user typed, as a value, in all of mpirun's spellings (`-np 4`, `--np=4`, `-NP
// 4`). Everything from the first word that is not an option is the command and stays untouched, up
// to a word ":"; after that another program begins, with options of its own. What the options mean
// together, with the job file and the scheduler, is launcher/request's business. Pure.

#include <optional>
#include <string>
#include <vector>

#include "base/options/option_words.h"
#include "launcher/options/inheritance.h"
#include "launcher/options/option_values.h"
#include "launcher/options/output_choice.h"
#include "plan/request/request.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

// What the line asks for; all but kRun print something and end.
enum class Action { kRun, kHelp, kHelpAll, kVersion, kShowLimits, kShowScheduler, kCompletion };

// One block of `dtlaunch ... a : -n 2 b`.
struct ProgramLine {
  std::optional<int> ranks;
  std::optional<SizeRange> rank_range;     // -np MIN:MAX, in the place of that
  std::optional<Inheritance> inheritance;  // -envall, -envnone, -envlist
  Variables set;                           // -env, in order
  std::vector<std::string> passed;         // -x NAME: whatever its value here is
  std::string hosts;                       // -host, where programs have their own hosts
  std::string working_directory;           // -wdir, as typed
  std::vector<std::string> command;
};

// How agents come to the hosts. Only dtlaunch itself needs it; the plan never sees it.
struct Starting {
  std::optional<const Scheduler*> scheduler;  // --scheduler; nullptr: none
  std::optional<AgentStart> agent_start;      // -launcher
  bool accept_new_host_keys = false;
  bool push = false;
  std::optional<JobTime> timeout;  // --start-timeout

  // Without -launcher: ssh.
  AgentStart how() const { return agent_start.value_or(AgentStart{}); }
};

struct CommandLine {
  Action action = Action::kRun;
  std::string shell;            // --completion
  std::string hostfile, hosts;  // at most one of them
  std::string discover;         // --discover: a command or a file
  // Parts of a job (plan/request/job_parts.h), which the Request takes over whole.
  Placement placement;             // ranks: 1 for each of several programs unless they say
  PinOptions pinning;              // I_MPI_PIN* are not among its variables yet
  EnvironmentOptions environment;  // with nothing inherited yet
  NetworkOptions network;
  Starting starting;
  Ending ending;
  RestartLimits restarts;
  Reporting reporting;
  std::string job_file;      // -c; empty: ./dtlaunch.toml when no program is given
  std::string program_file;  // -configfile: holds the programs, of which there are none here then
  std::optional<Inheritance> inheritance;  // -genvall, -genvnone, -genvlist
  std::string working_directory;           // -gwdir, as typed
  bool dry_run = false;
  bool detach = false;
  OutputChoice shown;
  // The caller shows warnings and notes: the parser prints nothing.
  std::vector<std::string> warnings;  // of variables that ask for what dtlaunch does not do
  std::vector<std::string> notes;     // for -v: options of other launchers that mean nothing here
  int verbosity = 0;                  // 1: -v, 2: -vv
  bool as_torchrun = false;  // in torchrun's words: a script that cannot run by itself is python3's
  // All options, those of the first program included, and then those of the job file that count.
  std::vector<TypedOption> given;

  bool is_given(std::string_view canonical) const;
  std::vector<ProgramLine> programs = {
      {}};  // at least one; the first without a command: none given
};

// Parses a whole line. arguments: without argv[0]. environment: for what Hydra, Intel MPI and Open
// MPI read from it; options on the line win over it. Throws Error(kUsage).
CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Variables& environment = {});

// Adds what `options` (of a job file) say where `line` does not. Two groups come from one place as
// a whole: which hosts there are, and how ranks are dealt to them. A mix of the two sources would
// be a job that nobody described. Throws Error(kBadInput).
void add_options(CommandLine& line, const std::vector<GivenOption>& options);

// Replaces the programs of `line`, which must have none, by `programs`, which has at least one.
// What the line says about programs (-env, -wdir...) then holds for each of them. Throws
// Error(kUsage) for -np with several programs.
void take_programs(CommandLine& line, std::vector<ProgramLine> programs);

// Replaces the programs of `line`, which must have none, by those of -configfile FILE. The text is
// in the form of dtlaunch(1), PROGRAM FILES. Throws Error(kBadInput) with "path:line".
void add_program_file(CommandLine& line, std::string_view text, const std::string& path);

}  // namespace dtl
