#pragma once
// StepStarterRow: the starters of steps and tasks, one row for each scheduler that has one: whether
// a job's agents start so, what does it, and what it runs on each node. Everything else asks the
// row and does not know the scheduler.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/schedulers/step_plan.h"
#include "launcher/step/step_starter.h"

namespace dtl {

struct StepStarterRow {
  const Scheduler* scheduler;
  // The step in which agents are to start, with all nodes that it may have; nullopt: they start
  // otherwise, and `notices` has the reason where that is one. Throws Error.
  std::optional<StepPlan> (*plan)(const CommandLine& line, const SchedulerEvidence& evidence,
                                  const Variables& environment, std::vector<std::string>& notices);
  // The commands that do it. `plan` is one that plan() has made, perhaps with fewer nodes.
  std::unique_ptr<StepStarter> (*make)(const StepPlan& plan, const Surroundings& around);
  // Refuses options that a node cannot have that waits while the first one starts the job; nullptr:
  // this scheduler has no such nodes. Throws Error(kUsage).
  void (*check_waiting)(const CommandLine& line, const SchedulerEvidence& evidence);
  // The first word of what it runs on each node, as a hidden command of dtlaunch, and that command:
  // the words behind it and dtagent's path. Returns the job's exit status; throws Error.
  const char* node_command;
  int (*run_node)(const std::vector<std::string>& words, const std::string& agent_path);
};

std::span<const StepStarterRow> step_starters();

// The row of evidence.starter; nullptr: it has none, or this process is not to start agents.
const StepStarterRow* find_step_starter(const SchedulerEvidence& evidence);

// Looks for the program of evidence.starter. Where there is none, the starter is dropped, ssh takes
// its place, and evidence.follows has a sentence about it.
void find_starter(const std::optional<AgentStart>& asked, const Variables& environment,
                  SchedulerEvidence& evidence);

// As StepStarterRow::plan, for whatever has started us. Throws Error(kUsage) where the user wants
// the starter of another scheduler.
std::optional<StepPlan> wanted_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                    const Variables& environment,
                                    std::vector<std::string>& notices);

// By the row of plan.by.
std::unique_ptr<StepStarter> make_step_starter(const StepPlan& plan, const Surroundings& around);

}  // namespace dtl
