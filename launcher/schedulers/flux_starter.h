#pragma once
// FluxStarter: starts agents in an instance of Flux, with one `flux exec` for all brokers that the
// job uses. Like other tools that start daemons, it bypasses Flux's scheduler and passes its own
// environment on. launcher/step runs the command.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/schedulers/step_plan.h"
#include "launcher/step/step_starter.h"

namespace dtl {

struct FluxStarterOptions {
  std::string flux;                  // its path
  std::vector<int> ranks;            // of the brokers, one for each node
  std::vector<std::string> command;  // the dtlaunch on each node; host, port and job follow
  std::string meeting_host;          // this host, as the nodes know it
  std::string job;
  Variables environment;  // of this process
};

// The arguments with which flux runs a command on the brokers of these ranks. The command starts in
// /, because flux would use this process's folder, which other hosts may lack. Pure.
std::vector<std::string> flux_arguments(const std::string& flux, const std::vector<int>& ranks,
                                        const std::vector<std::string>& command);

class FluxStarter final : public StepStarter {
 public:
  explicit FluxStarter(FluxStarterOptions options) : options_(std::move(options)) {}

  std::string program() const override { return "flux exec"; }
  std::string scheduler() const override { return "Flux"; }
  // flux passes the token on in its environment, unless DTL_TOKEN_FILE is set there.
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override;
  std::string hint(const Host& host) const override;

 private:
  const FluxStarterOptions options_;
};

// See StepStarterRow.
std::optional<StepPlan> plan_flux_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                       const Variables& environment,
                                       std::vector<std::string>& notices);
std::unique_ptr<StepStarter> make_flux_starter(const StepPlan& plan, const Surroundings& around);

// The hidden command of dtlaunch that runs on each node; a host, a port and a job follow. The node
// has the name that its host gives itself. Returns the job's exit status; throws Error.
constexpr const char* kFluxNode = "flux-node";
int run_flux_node(const std::vector<std::string>& words, const std::string& agent_path);

}  // namespace dtl
