#pragma once
// StepStarter: what brings a dtlaunch to each node of a step: one command for all of them, or one
// for each. The functions are called on one thread at a time, but for all_have_come().

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
  // The nodes are to come back to this port, with this token. May ask the engine's programs, and
  // wait for them. Throws Error.
  virtual StarterCommands commands(const std::vector<std::string>& nodes, int port,
                                   const std::string& token) = 0;
  // Nobody is missing any more who may still come. Called from any thread, any number of times.
  virtual void all_have_come() {}
  // What to try when it has brought nothing to the host.
  virtual std::string hint(const Host& host) const = 0;
};

// NAME=VALUE each, without the job's token.
std::vector<std::string> entries_of(const Variables& environment);

}  // namespace dtl
