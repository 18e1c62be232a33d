#pragma once
// dtagent --bridge and --rejoin: join standard input and output with a unix socket of this user on
// this node. They start nothing: an agent of this user's service speaks with the launcher, or the
// one that it has lost.

#include <string>

#include "base/fd.h"

namespace dtl {

struct ServiceAgent {
  Fd socket;             // invalid: there is no service, or none that can be used
  std::string greeting;  // what it has said so far: its greeting, and what came with it
};

// The service's agent for one job. Its greeting must come within two seconds and be of this very
// version: a service that hangs or is out of date is none.
ServiceAgent ask_service();

// Where the agent waits for its launcher that has this link; invalid when there is none.
Fd find_agent_of(const std::string& link);

// Copies both ways until the agent hangs up.
void run_bridge(ServiceAgent agent, Fd input, Fd output);

}  // namespace dtl
