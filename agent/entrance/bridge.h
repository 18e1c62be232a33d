#pragma once
// dtagent --bridge and --rejoin: connect standard input and output to a unix socket of this user on
// this node. They start nothing. An agent of this user's service, or the agent that lost the
// launcher, is at the socket.

#include <string>

#include "base/fd.h"

namespace dtl {

struct ServiceAgent {
  Fd socket;             // invalid: no usable service
  std::string greeting;  // the bytes so far: its greeting and what followed
};

// Asks the service for an agent for one job. It must greet within two seconds and have exactly this
// version: a service that hangs or is out of date counts as none.
ServiceAgent ask_service();

// The socket of the agent that waits for its launcher under this link; invalid if there is none.
Fd find_agent_of(const std::string& link);

// Copies both ways until the agent hangs up or `output` has no reader. Passes on the end of
// `input`; the agent decides what that means.
void run_bridge(ServiceAgent agent, Fd input, Fd output);

}  // namespace dtl
