#pragma once
// Scheduler: everything about one scheduler, or one kind of Kubernetes job: how to recognise a job,
// how to read its hosts and this process's part, which variables it leaves in the environment, how
// its programs start agents on hosts, and which commands users type there. Each is a pair of files
// in this folder and a row of schedulers(); no other code distinguishes them. launcher/schedulers
// runs the starters. Pure: plain functions and constants.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/request/host.h"

namespace dtl {

class SchedulerReader;
struct SchedulerAnswers;
struct SchedulerEvidence;
struct SchedulerQuestions;

// A word of -launcher that selects this starter.
struct StarterWord {
  std::string_view word;
  std::optional<std::size_t> program = {};  // of Starter::programs; absent: any of them
};

// How a scheduler's own programs start agents on the hosts of its job.
struct Starter {
  enum class Way {
    kCarried,  // a command for each host; its standard input and output are the agent's
    kStep,     // one command for all hosts; the agents connect back to dtlaunch
    kTasks,    // the same with a command for each host except this one
  };
  Way way = Way::kCarried;
  std::span<const StarterWord> words;                // the first is its name
  std::span<const std::string_view> programs = {};   // usable programs, the best first
  std::span<const std::string_view> arguments = {};  // for kCarried, before the host
  std::string_view folder = {};   // of its programs, for messages, besides PATH: "$PBS_EXEC/bin"
  std::string_view summary = {};  // for --show-scheduler; {0}: the program
  // kStep and kTasks: why it fails outside of such a job, and what to try.
  std::string_view elsewhere = {}, elsewhere_hint = {};
};

// The variable that reveals a scheduler.
struct Sighting {
  std::string variable;
  bool weak = false;  // other programs set it too: it only counts if nothing else is seen
};

struct Scheduler {
  std::string_view name;        // for --scheduler and messages: "slurm"
  std::string_view title = {};  // in sentences: "Slurm"
  std::string_view alias = {};  // another name for it
  bool pods = false;            // of Kubernetes: several kinds may be recognised at once
  // A scheduler whose jobs may contain whole jobs of this one and still have its variables.
  std::string_view runs_inside = {};
  // The command that starts a dtlaunch in each of its tasks: "srun". Empty: none.
  std::string_view task_command = {};
  bool recreates_nodes = false;  // a lost node returns with its name and number
  // The signal that announces that the job's time is nearly over; 0: none.
  int notice_signal = 0;
  // How to give all processes of a job the same token, for a hint.
  std::string_view token_hint = {};
  // Variables that it sets for a task and that would mislead a rank; '*' at the end of a name
  // matches the rest. Those that are valid for the whole job stay.
  std::span<const std::string_view> task_variables = {};
  const Starter* starter = nullptr;  // nullptr: ssh

  // The evidence found, strongest first; empty: none. asked: the user chose it with --scheduler, so
  // evidence shared with a related kind is enough.
  std::vector<Sighting> (*look)(const SchedulerReader& variables, bool asked) = nullptr;
  // Why the evidence does not make this its job, unless the user says so; empty: it does. For a
  // warning.
  std::string_view (*declines)(const SchedulerReader& variables) = nullptr;
  // What to read besides the environment; nullptr: nothing.
  void (*ask)(const Sighting& seen, SchedulerReader& variables,
              SchedulerQuestions& questions) = nullptr;
  // All evidence except the scheduler, the variables used and this machine's index among the hosts,
  // which find_scheduler() adds. Throws Error(kBadInput) for a value that the scheduler never
  // writes: a guess could start ranks on another job's hosts.
  SchedulerEvidence (*read)(const Sighting& seen, SchedulerReader& variables,
                            const SchedulerAnswers& answers) = nullptr;
  // The commands with which users reach a host of such a job.
  const HostCommands& (*commands)(const SchedulerEvidence& evidence) = nullptr;
};

// In order of precedence: of two related ones, the first counts.
std::span<const Scheduler* const> schedulers();

// "slurm", "indexed-job"; nullptr: "none". Throws Error(kUsage) with the nearest name for any
// other.
const Scheduler* parse_scheduler(const std::string& text);
std::string_view scheduler_name(const Scheduler* scheduler);

// One Sighting for each of these variables that is set.
std::vector<Sighting> sightings_of(const SchedulerReader& variables,
                                   std::initializer_list<std::string_view> names);

}  // namespace dtl
