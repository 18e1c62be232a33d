#pragma once
// `dtlaunch forecast`: the speed-up of a training on N nodes, from a measured step and from links
// that are measured or given. See dtlaunch-forecast(1). It starts a job only to measure links.

#include <functional>
#include <string>
#include <vector>

#include "launcher/options/surroundings.h"
#include "launcher/session/session.h"

namespace dtl {

// How to start agents; the bool is --accept-new-host-keys. From launcher/run, as doctor's.
using MakeLinkStarter = std::function<AgentStarter(bool)>;

// Prints the forecast on standard output; returns the exit status. Throws Error(kUsage) and
// Error(kBadInput) for the command line, the hostfile and the profile, Error(kUnreachable) if the
// links cannot be measured.
int run_forecast(const std::vector<std::string>& arguments, const Surroundings& around,
                 const MakeLinkStarter& make_starter);

}  // namespace dtl
