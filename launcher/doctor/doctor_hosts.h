#pragma once
// Examining hosts: brings an agent up on each, asks it, lets the agents try each other's addresses,
// and ends them. What goes wrong on one host is noted and stops none of the others. Blocks, for at
// most about half a minute.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/session/session.h"
#include "plan/request/host.h"

namespace dtl {

struct ExaminationRequest {
  std::vector<Host> hosts;
  InterfaceFilter interfaces;
  std::vector<Fact> parameters;  // of Examine
  AgentStarter start_agent;
  std::string job_id;
};

// In the order of the hosts.
std::vector<Examination> examine_hosts(const ExaminationRequest& request);

}  // namespace dtl
