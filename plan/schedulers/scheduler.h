#pragma once
// Scheduler: everything that is known of one scheduler, or of one kind of job of Kubernetes: by
// what a job is recognised, how its hosts and this process's part are read, what it leaves in the
// environment, how its programs bring agents to hosts, and what a person types there. Each is one
// pair of files in this folder and one row of schedulers(); no other code tells them apart. How its
// starter is run is launcher/schedulers' part. Pure: plain functions and constants.

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

// A word of -launcher that asks for this starter.
struct StarterWord {
  std::string_view word;
  std::optional<std::size_t> program = {};  // of Starter::programs; absent: any of them
};

// How a scheduler's own programs bring agents to the hosts of its job.
struct Starter {
  enum class Way {
    kCarried,  // a command for each host, whose standard input and output are the agent's
    kStep,     // one command for all hosts; what it starts there comes back to dtlaunch
    kTasks,    // a command for each host but this one, the same
  };
  Way way = Way::kCarried;
  std::span<const StarterWord> words;                // the first is its name
  std::span<const std::string_view> programs = {};   // that can do it, the best first
  std::span<const std::string_view> arguments = {};  // of kCarried, before the host
  std::string_view folder = {};   // of its programs, for messages, beside PATH: "$PBS_EXEC/bin"
  std::string_view summary = {};  // for --show-scheduler; {0}: the program
  // kStep and kTasks: why it is refused outside of such a job, and what to try.
  std::string_view elsewhere = {}, elsewhere_hint = {};
};

// By which variable a scheduler shows itself.
struct Sighting {
  std::string variable;
  bool weak = false;  // other programs set it as well: it counts if nothing else is seen
};

struct Scheduler {
  std::string_view name;        // for --scheduler and messages: "slurm"
  std::string_view title = {};  // in sentences: "Slurm"
  std::string_view alias = {};  // another word for it
  bool pods = false;            // of Kubernetes: kinds of it may show themselves side by side
  // A scheduler whose jobs may hold whole jobs of this one, with its variables still there.
  std::string_view runs_inside = {};
  // The command that starts every one of its tasks, each with a dtlaunch: "srun". Empty: the
  // scheduler has none.
  std::string_view task_command = {};
  bool recreates_nodes = false;  // a lost node comes again, with its name and number
  // The signal by which it says beforehand that the job's time is nearly over; 0: by none.
  int notice_signal = 0;
  // How to give all processes of a job one token, for a hint.
  std::string_view token_hint = {};
  // Variables that it leaves in the environment of a task and that would mislead a rank; '*' at the
  // end of a name means any rest. Those that are true for the whole job stay.
  std::span<const std::string_view> task_variables = {};
  const Starter* starter = nullptr;  // nullptr: ssh

  // Where it shows itself, the surest first; empty: nowhere. asked: by the user, with --scheduler,
  // and then evidence that it shares with a related kind will do.
  std::vector<Sighting> (*look)(const SchedulerReader& variables, bool asked) = nullptr;
  // Why the evidence is not taken for a job of it, unless the user says so; empty: it is. For a
  // warning.
  std::string_view (*declines)(const SchedulerReader& variables) = nullptr;
  // What has to be read beside the environment; nullptr: nothing.
  void (*ask)(const Sighting& seen, SchedulerReader& variables,
              SchedulerQuestions& questions) = nullptr;
  // All of the evidence but the scheduler, the variables used and this machine's own place among
  // the hosts, which find_scheduler() adds. Throws Error(kBadInput) for a value that the scheduler
  // does not write: a guess could start ranks on hosts of another job.
  SchedulerEvidence (*read)(const Sighting& seen, SchedulerReader& variables,
                            const SchedulerAnswers& answers) = nullptr;
  // What a person types to get at a host of such a job.
  const HostCommands& (*commands)(const SchedulerEvidence& evidence) = nullptr;
};

// In order of precedence: of two related ones that are seen, the first counts.
std::span<const Scheduler* const> schedulers();

// "slurm", "indexed-job"; nullptr: "none". Throws Error(kUsage) with the nearest name for any
// other.
const Scheduler* parse_scheduler(const std::string& text);
std::string_view scheduler_name(const Scheduler* scheduler);

// One Sighting for each of these variables that is there.
std::vector<Sighting> sightings_of(const SchedulerReader& variables,
                                   std::initializer_list<std::string_view> names);

}  // namespace dtl
