#pragma once
// StepPlan: the part of a scheduler's job in which its own programs start agents: one step for all
// nodes, or a task for each. A plain value that launcher/request decides on, the scheduler's row
// fills in and launcher/step runs. It does not depend on the scheduler.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

struct StepPlan {
  const Starter* by = nullptr;       // its way is kStep or kTasks
  std::string program;               // its path
  std::string job;                   // the scheduler's number of the job
  std::vector<Host> nodes;           // that may need agents, by the scheduler's names
  bool whole = false;                // these are all nodes of the allocation
  bool only = false;                 // other hosts are refused; otherwise they start in another way
  std::chrono::seconds patience{0};  // how long to wait for the nodes
  // The step in which a dtlaunch waits on each other node; empty: none.
  std::string beside = {};
  std::vector<int> lines = {};    // of each node; see SchedulerEvidence::host_lines
  std::string meeting_host = {};  // this machine, as the nodes know it

  // False: one task for each node but this one.
  bool is_one_step() const { return by->way == Starter::Way::kStep; }
};

// The path of a program for `starter`, or nullopt. Searches the scheduler's folder, then the PATH
// of `environment`. which: the only allowed program.
std::optional<std::string> find_starter_program(const Starter& starter,
                                                std::optional<std::size_t> which,
                                                const SchedulerEvidence& evidence,
                                                const Variables& environment);
// The sentence for a message if there is none: "there is no srun on PATH".
std::string no_starter_program(const Starter& starter, std::optional<std::size_t> which);

// Whether the scheduler has also started other dtlaunch, which wait for this one.
bool is_first_of_several(const SchedulerEvidence& evidence);

// Whether DTL_TOKEN_FILE is set: then nodes read the token themselves, and the scheduler, which may
// send variables unencrypted, does not pass it on.
bool names_token_file(const Variables& environment);
// The environment for a starter. DTL_TOKEN_FILE is absolute, because nodes run in another folder.
Variables environment_of_starter(const Surroundings& around);

// The line about the step for --dry-run.
std::string step_notice(const StepPlan& step);

}  // namespace dtl
