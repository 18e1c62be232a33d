#pragma once
// SrunStarter: one srun for all nodes, in an allocation of Slurm.

#include <string>
#include <vector>

#include "launcher/step/step_starter.h"

namespace dtl {

struct SrunStarterOptions {
  std::string srun;                  // its path
  bool whole = false;                // the nodes are all of the allocation
  std::vector<std::string> command;  // of the dtlaunch on each node; the port follows
  std::string beside;                // a word behind that; empty: none
  Variables environment;             // of this process
};

class SrunStarter final : public StepStarter {
 public:
  explicit SrunStarter(SrunStarterOptions options) : options_(std::move(options)) {}

  std::string program() const override { return "srun"; }
  std::string engine() const override { return "Slurm"; }
  // srun hands the token on in its environment, where no DTL_TOKEN_FILE is named there.
  StarterCommands commands(const std::vector<std::string>& nodes, int port,
                           const std::string& token) override;
  std::string hint(const Host& host) const override;

 private:
  const SrunStarterOptions options_;
};

}  // namespace dtl
