#pragma once
// Examining hosts: starts an agent on each, asks it, lets the agents try each other's addresses,
// and ends them. What goes wrong on one host is noted in its Examination and stops none of the
// others. Blocks, for half a minute at most.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/session/session.h"
#include "plan/request/host.h"

namespace dtl {

// job_id: agents are only there for a job, so that doctor draws an id for one that never runs.
struct ExaminationRequest {
  std::vector<Host> hosts;
  InterfaceFilter interfaces;
  // Of Examine, beside "what": PATH and the Python to look at.
  std::vector<Fact> parameters;  // of Examine
  AgentStarter start_agent;
  std::string job_id;
};

// In the order of the hosts.
std::vector<Examination> examine_hosts(const ExaminationRequest& request);

}  // namespace dtl
