#pragma once
// SrunStarter: starts agents in a Slurm allocation with one srun for all nodes: when to use it, and
// what it runs on each node. Agents are then inside the job's cgroup and limits, appear in sacct,
// and end with the step; ssh would need pam_slurm_adopt for that, and keys.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/schedulers/step_plan.h"
#include "launcher/step/step_starter.h"

namespace dtl {

struct SrunStarterOptions {
  std::string srun;                  // its path
  bool whole = false;                // the nodes are all of the allocation
  std::vector<std::string> command;  // the dtlaunch on each node; the port follows
  std::string beside;                // a word after the port; empty: none
  Variables environment;             // of this process
};

class SrunStarter final : public StepStarter {
 public:
  explicit SrunStarter(SrunStarterOptions options) : options_(std::move(options)) {}

  std::string program() const override { return "srun"; }
  std::string scheduler() const override { return "Slurm"; }
  // srun passes the token on in its environment, unless DTL_TOKEN_FILE is set there.
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override;
  std::string hint(const Host& host) const override;

 private:
  const SrunStarterOptions options_;
};

// Refuses options that agents in a Slurm step do not support. If Slurm has started dtlaunch on
// every node, all of them check, so that none waits for a job that never begins. Throws
// Error(kUsage).
void check_srun_options(const CommandLine& line, const SchedulerEvidence& evidence);

// See StepStarterRow.
std::optional<StepPlan> plan_srun_step(const CommandLine& line, const SchedulerEvidence& evidence,
                                       const Variables& environment,
                                       std::vector<std::string>& notices);
std::unique_ptr<StepStarter> make_srun_starter(const StepPlan& plan, const Surroundings& around);

// The hidden command of dtlaunch that srun runs on each node. The port follows, and the step in
// which another dtlaunch waits on this node. Returns the job's exit status; throws Error.
constexpr const char* kSrunNode = "step-node";
int run_srun_node(const std::vector<std::string>& words, const std::string& agent_path);

}  // namespace dtl
