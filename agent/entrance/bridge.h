#pragma once
// dtagent --bridge: joins standard input and output with this user's service on this node. It
// starts nothing: an agent of the service speaks with the launcher.

#include "base/fd.h"

namespace dtl {

struct ServiceAgent {
  Fd socket;             // invalid: there is no service, or none that can be used
  std::string greeting;  // what it has said so far: its greeting, and what came with it
};

// The service's agent for one job. Its greeting must come within two seconds and be of this very
// version: a service that hangs or is out of date is none.
ServiceAgent ask_service();

// Copies both ways until the agent hangs up.
void run_bridge(ServiceAgent agent, Fd input, Fd output);

}  // namespace dtl
