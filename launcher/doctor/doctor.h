#pragma once
// `dtlaunch doctor`: would a job start on these hosts, and if not, what has to be done? See
// dtlaunch-doctor(1). It starts agents in the same way as a job, so that what it finds is what a
// job would meet. This file is the command; what it concludes is in doctor_findings.h.

#include <functional>
#include <string>
#include <vector>

#include "launcher/request/job_request.h"
#include "launcher/session/session.h"

namespace dtl {

// How to start agents on hosts of a scheduler's job, whose settings are given, or on other hosts.
// The bool is --accept-new-host-keys. launcher/run passes it, because doctor must not know the ways
// to start an agent.
using MakeStarter = std::function<AgentStarter(const JobSettings&, bool)>;

// Prints what it finds on standard output; returns the exit status. Throws Error(kUsage) and
// Error(kBadInput) for the command line and the hostfile.
int run_doctor(const std::vector<std::string>& arguments, const Surroundings& around,
               const MakeStarter& make_starter);

}  // namespace dtl
