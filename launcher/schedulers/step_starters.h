#pragma once
// StepStarterRow: how to start agents in steps and tasks, one row for each scheduler that can:
// whether to do so, with which commands, and what runs on each node. All other code uses the row
// and does not depend on the scheduler.

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
  // The step in which agents must start, with all nodes that it may have; nullopt: they start in
  // another way, and `notices` gets the reason if there is one. Throws Error.
  std::optional<StepPlan> (*plan)(const CommandLine& line, const SchedulerEvidence& evidence,
                                  const Variables& environment, std::vector<std::string>& notices);
  // The commands for it. `plan` is from plan(), perhaps with fewer nodes.
  std::unique_ptr<StepStarter> (*make)(const StepPlan& plan, const Surroundings& around);
  // Refuses options that a node cannot support while it waits for the first node's job; nullptr:
  // this scheduler has no such nodes. Throws Error(kUsage).
  void (*check_waiting)(const CommandLine& line, const SchedulerEvidence& evidence);
  // The hidden command of dtlaunch that runs on each node: its first word, and its function, which
  // gets the words after it and dtagent's path. Returns the job's exit status; throws Error.
  const char* node_command;
  int (*run_node)(const std::vector<std::string>& words, const std::string& agent_path);
};

std::span<const StepStarterRow> step_starters();

// The row of evidence.starter; nullptr: it has none, or this process must not start agents.
const StepStarterRow* find_step_starter(const SchedulerEvidence& evidence);

// Finds the program of evidence.starter. If there is none, ssh replaces the starter, and
// evidence.follows gets a sentence about it.
void find_starter(const std::optional<AgentStart>& asked, const Variables& environment,
                  SchedulerEvidence& evidence);

// Calls StepStarterRow::plan for the scheduler that has started us. Throws Error(kUsage) if the
// user wants another scheduler's starter.
std::optional<StepPlan> wanted_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                    const Variables& environment,
                                    std::vector<std::string>& notices);

// Uses the row of plan.by.
std::unique_ptr<StepStarter> make_step_starter(const StepPlan& plan, const Surroundings& around);

}  // namespace dtl
