// Functions that all schedulers' rows share.
#include "launcher/schedulers/step_plan.h"

#include <fmt/format.h>

#include "base/machine/find_program.h"
#include "base/text.h"
#include "plan/request/name_list.h"

namespace dtl {
namespace {

std::vector<std::string> programs_of(const Starter& starter, std::optional<std::size_t> which) {
  if (which) return {std::string(starter.programs[*which])};
  return {starter.programs.begin(), starter.programs.end()};
}

}  // namespace

std::optional<std::string> find_starter_program(const Starter& starter,
                                                std::optional<std::size_t> which,
                                                const SchedulerEvidence& evidence,
                                                const Variables& environment) {
  const std::string* const path = find_variable(environment, "PATH");
  for (const std::string& name : programs_of(starter, which)) {
    // The scheduler's own folder first: PATH may have another installation's program.
    if (auto file = find_program(name, evidence.starter_folder)) return file;
    if (auto file = find_program(name, path == nullptr ? "" : *path)) return file;
  }
  return std::nullopt;
}

std::string no_starter_program(const Starter& starter, std::optional<std::size_t> which) {
  return fmt::format("there is no {} on PATH{}{}", join(programs_of(starter, which), " or "),
                     starter.folder.empty() ? "" : " or in ", starter.folder);
}

bool is_first_of_several(const SchedulerEvidence& evidence) {
  return evidence.role == SchedulerRole::kLauncher && evidence.node_count.value_or(1) > 1;
}

bool names_token_file(const Variables& environment) {
  const std::string* const file = find_variable(environment, "DTL_TOKEN_FILE");
  return file != nullptr && !file->empty();
}

Variables environment_of_starter(const Surroundings& around) {
  Variables all = around.environment;
  for (auto& [name, value] : all) {
    if (name != "DTL_TOKEN_FILE" || value.empty() || value.starts_with('/')) continue;
    // Starters begin in / on the nodes, where a relative path would mean another file.
    value = around.working_directory + "/" + value;
  }
  return all;
}

std::string step_notice(const StepPlan& step) {
  std::vector<std::string> names;
  for (const Host& node : step.nodes) names.push_back(node.name);
  return fmt::format("agents start by {}, in {} of job {}, on {}",
                     step.program.substr(step.program.rfind('/') + 1),
                     step.is_one_step() ? "one step" : "tasks", step.job, first_names(names));
}

}  // namespace dtl
