#pragma once
// StepStarter: makes the commands that run a dtlaunch on each node of a step: one for all nodes or
// one for each. AgentStep runs them; each scheduler has a StepStarter (launcher/schedulers). One
// thread at a time calls the functions; any thread may call all_have_come().

#include <string>
#include <vector>

#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

// Commands to run: the words of each, the first a path, and their environment, NAME=VALUE each.
struct StarterCommands {
  std::vector<std::vector<std::string>> commands;  // one, or one for each node in order
  std::vector<std::string> environment;            // of each command
};

class StepStarter {
 public:
  virtual ~StepStarter() = default;

  virtual std::string program() const = 0;    // as messages call it: "srun"
  virtual std::string scheduler() const = 0;  // its scheduler: "Slurm"
  // The nodes must connect back to this port with this token. May run the scheduler's programs and
  // wait for them. Called again for each start of the step. Throws Error.
  virtual StarterCommands commands(const std::vector<std::string>& nodes, int port,
                                   const std::string& token) = 0;
  // Every node that may still arrive has arrived. Called from any thread, any number of times.
  virtual void all_have_come() {}
  // What to try if the starter did not reach the host.
  virtual std::string hint(const Host& host) const = 0;
};

// NAME=VALUE each, without the job's token, which a starter passes on in its own way or not at all.
std::vector<std::string> entries_of(const Variables& environment);

}  // namespace dtl
