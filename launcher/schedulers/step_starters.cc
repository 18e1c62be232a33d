// A new scheduler with a starter adds a row here and a pair of files beside this one.
#include "launcher/schedulers/step_starters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "launcher/schedulers/flux_starter.h"
#include "launcher/schedulers/srun_starter.h"
#include "launcher/schedulers/task_starter.h"
#include "plan/schedulers/flux.h"
#include "plan/schedulers/pbs.h"
#include "plan/schedulers/slurm.h"

namespace dtl {
namespace {

constexpr StepStarterRow kRows[] = {
    {&kSlurm, plan_srun_step, make_srun_starter, check_srun_options, kSrunNode, run_srun_node},
    {&kFlux, plan_flux_step, make_flux_starter, nullptr, kFluxNode, run_flux_node},
    {&kPbs, plan_tasks, make_task_starter, nullptr, kTaskNode, run_task_node},
};

const StepStarterRow* row_of(const Starter* starter) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& each) {
    return each.scheduler->starter == starter;
  });
  return row == std::end(kRows) ? nullptr : row;
}

// The row that -launcher asks for. Carriers have none: they start agents whatever the environment
// says.
const StepStarterRow* asked_row(const std::optional<AgentStart>& asked) {
  return asked ? row_of(asked->starter) : nullptr;
}

}  // namespace

std::span<const StepStarterRow> step_starters() {
  return kRows;
}

const StepStarterRow* find_step_starter(const SchedulerEvidence& evidence) {
  return evidence.starter == nullptr ? nullptr : row_of(evidence.starter);
}

void find_starter(const std::optional<AgentStart>& asked, const Variables& environment,
                  SchedulerEvidence& evidence) {
  if (find_step_starter(evidence) == nullptr) return;
  const Starter& starter = *evidence.starter;
  const auto which = asked && asked->starter == &starter ? asked->program : std::nullopt;
  if (auto program = find_starter_program(starter, which, evidence, environment)) {
    evidence.starter_path = std::move(*program);
    return;
  }
  evidence.follows.push_back(no_starter_program(starter, which));
  evidence.starter = nullptr;
}

std::optional<StepPlan> wanted_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                    const Variables& environment,
                                    std::vector<std::string>& notices) {
  // On nodes started by the scheduler, only the first node's dtlaunch starts agents.
  const bool starts_agents = evidence.role == SchedulerRole::kLauncher && !evidence.refusal;
  const StepStarterRow* const offered = starts_agents ? find_step_starter(evidence) : nullptr;
  const StepStarterRow* const asked = asked_row(line.starting.agent_start);
  if (asked != nullptr && asked != offered) {
    // It is the right scheduler, but its job cannot be used; that says more than "not in such a
    // job".
    if (asked == find_step_starter(evidence) && evidence.refusal) {
      const SchedulerRefusal& refusal = *evidence.refusal;
      throw option_error(refusal.attempted, refusal.reason, refusal.hint);
    }
    throw option_error(fmt::format("-launcher {}", asked->scheduler->starter->words[0].word),
                       std::string(asked->scheduler->starter->elsewhere),
                       std::string(asked->scheduler->starter->elsewhere_hint));
  }
  if (offered == nullptr) return std::nullopt;
  return offered->plan(line, evidence, environment, notices);
}

std::unique_ptr<StepStarter> make_step_starter(const StepPlan& plan, const Surroundings& around) {
  return row_of(plan.by)->make(plan, around);
}

}  // namespace dtl
