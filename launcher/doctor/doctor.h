#pragma once
// `dtlaunch doctor`: would a job start on these hosts, and if not, what has to be done?
// dtlaunch-doctor(1).

#include <functional>
#include <string>
#include <vector>

#include "launcher/request/job_request.h"
#include "launcher/session/session.h"

namespace dtl {

// How agents come to life on hosts of an engine's job, or on others; and --accept-new-host-keys.
using MakeStarter = std::function<AgentStarter(const JobSettings&, bool)>;

// Prints what it finds on standard output; returns the exit status. Throws Error(kUsage) and
// Error(kBadInput) for the command line and the hostfile.
int run_doctor(const std::vector<std::string>& arguments, const Surroundings& around,
               const MakeStarter& make_starter);

}  // namespace dtl
