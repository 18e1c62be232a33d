#pragma once
// StepPlan: the part of a scheduler's job in which agents start, by the scheduler's own programs:
// one step for all nodes, or a task for each. It is a plain value between who decides
// (launcher/request), the scheduler's row, and who runs it (launcher/step). It knows nothing of any
// one scheduler.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/command_line.h"
#include "launcher/options/surroundings.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

struct StepPlan {
  const Starter* by = nullptr;       // of Way::kStep or kTasks
  std::string program;               // its path
  std::string job;                   // the scheduler's number of the job
  std::vector<Host> nodes;           // where agents may be wanted, by the scheduler's names
  bool whole = false;                // these are all of the allocation
  bool only = false;                 // other hosts are refused; else agents start otherwise there
  std::chrono::seconds patience{0};  // for the nodes to come
  // The step in which dtlaunch waits on the other nodes; empty: there is none.
  std::string beside = {};
  std::vector<int> lines = {};    // of each node, as SchedulerEvidence::host_lines has it
  std::string meeting_host = {};  // this machine, as the nodes know it

  // Else a task for each node but this one.
  bool is_one_step() const { return by->way == Starter::Way::kStep; }
};

// The path of a program that does what `starter` is for, or nullopt. It is looked for in the folder
// that the scheduler names, then on the PATH of `environment`. which: the only one that may.
std::optional<std::string> find_starter_program(const Starter& starter,
                                                std::optional<std::size_t> which,
                                                const SchedulerEvidence& evidence,
                                                const Variables& environment);
// The sentence for a message where there is none: "there is no srun on PATH".
std::string no_starter_program(const Starter& starter, std::optional<std::size_t> which);

// Whether the scheduler has started others of us as well, which wait for this one.
bool is_first_of_several(const SchedulerEvidence& evidence);

// Whether DTL_TOKEN_FILE is set: then the nodes read the token themselves, and it goes through no
// scheduler, which may hand variables on unencrypted.
bool names_token_file(const Variables& environment);
// The environment of what starts the nodes, which run in another folder: DTL_TOKEN_FILE is
// absolute.
Variables environment_of_starter(const Surroundings& around);

// What --dry-run says of it.
std::string step_notice(const StepPlan& step);

}  // namespace dtl
