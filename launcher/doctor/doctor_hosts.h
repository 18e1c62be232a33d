#pragma once
// Examines hosts: starts an agent on each, asks it, lets the agents try each other's addresses, and
// ends them. A failure on one host is noted in its Examination and does not stop the others.
// Blocks, for half a minute at most.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/session/session.h"
#include "plan/request/host.h"

namespace dtl {

// job_id: agents need a job's id, so doctor draws one for a job that never runs.
struct ExaminationRequest {
  std::vector<Host> hosts;
  InterfaceFilter interfaces;
  // Of Examine, beside "what": PATH and the Python to check.
  std::vector<Fact> parameters;  // of Examine
  AgentStarter start_agent;
  std::string job_id;
};

// In the order of the hosts.
std::vector<Examination> examine_hosts(const ExaminationRequest& request);

}  // namespace dtl
