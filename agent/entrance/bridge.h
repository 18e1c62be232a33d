#pragma once
// dtagent --bridge and --rejoin: join standard input and output with a unix socket of this user on
// this node. They start nothing themselves. At the socket is an agent of this user's service, or
// the agent that has lost the launcher.

#include <string>

#include "base/fd.h"

namespace dtl {

struct ServiceAgent {
  Fd socket;             // invalid: there is no service, or none that can be used
  std::string greeting;  // what it has said so far: its greeting, and what came with it
};

// Has the service start an agent for one job. Its greeting must come within two seconds and be of
// this very version: a service that hangs or is out of date counts as none.
ServiceAgent ask_service();

// A socket of the agent that waits for its launcher under this link; invalid when there is none.
Fd find_agent_of(const std::string& link);

// Copies both ways until the agent hangs up or `output` has no reader. The end of `input` is passed
// on: what it means is the agent's decision.
void run_bridge(ServiceAgent agent, Fd input, Fd output);

}  // namespace dtl
