#pragma once
// StepStarter: what brings a dtlaunch to each node of a step: one command for all of them, or one
// for each. AgentStep runs the commands; a scheduler's own starter (launcher/schedulers) only makes
// them. The functions are called on one thread at a time, but for all_have_come().

#include <string>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

// A command to be run: its words, the first a path, and its environment, NAME=VALUE each.
struct StarterCommands {
  std::vector<std::vector<std::string>> commands;  // one, or one for each node in their order
  std::vector<std::string> environment;            // of each
};

class StepStarter {
 public:
  virtual ~StepStarter() = default;

  virtual std::string program() const = 0;    // as messages call it: "srun"
  virtual std::string scheduler() const = 0;  // whose it is: "Slurm"
  // The commands. The nodes are to come back to this port, with this token. May ask the scheduler's
  // programs, and wait for them. Called anew for each start of the step. Throws Error.
  virtual StarterCommands commands(const std::vector<std::string>& nodes, int port,
                                   const std::string& token) = 0;
  // Nobody is missing any more who may still come. Called from any thread, any number of times.
  virtual void all_have_come() {}
  // What to try when it has brought nothing to the host.
  virtual std::string hint(const Host& host) const = 0;
};

// NAME=VALUE each, without the job's token: a starter hands it on by a way of its own, or not at
// all.
std::vector<std::string> entries_of(const Variables& environment);

}  // namespace dtl
