#pragma once
// FluxStarter: in an instance of Flux, one `flux exec` for all brokers that are wanted. It goes
// round Flux's queue, as tools do that start daemons; what it starts has the brokers' environment
// and nothing to read, so that the token of the nodes goes through a file that all of them see.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/schedulers/step_plan.h"
#include "launcher/schedulers/task_starter.h"

namespace dtl {

// How flux is asked to run a command on the brokers of these ranks. Pure.
std::vector<std::string> flux_arguments(const std::string& flux, const std::vector<int>& ranks,
                                        const std::vector<std::string>& command);

class FluxStarter final : public StepStarter {
 public:
  // TaskStarterOptions::program is flux's path, and lines are the brokers' ranks.
  explicit FluxStarter(TaskStarterOptions options) : options_(std::move(options)) {}

  std::string program() const override { return "flux exec"; }
  std::string scheduler() const override { return "Flux"; }
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override;
  void all_have_come() override { token_file_.remove(); }
  std::string hint(const Host& host) const override;

 private:
  const TaskStarterOptions options_;
  TokenFile token_file_;
};

// As StepStarterRow has them.
std::optional<StepPlan> plan_flux_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                       const Variables& environment,
                                       std::vector<std::string>& notices);
std::unique_ptr<StepStarter> make_flux_starter(const StepPlan& plan, const Surroundings& around);

// Behind it come TaskNodeWords; the node is called as its host calls itself.
constexpr const char* kFluxNode = "flux-node";
int run_flux_node(const std::vector<std::string>& words, const std::string& agent_path);

}  // namespace dtl
