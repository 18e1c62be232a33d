#pragma once
// Checks the pins and interfaces of hosts before any host is contacted; otherwise a mistake would
// be found only after all agents have started. Pure.

#include "launcher/request/job_request.h"

namespace dtl {

// Adds notes about pins to the settings'. Throws Error(kUsage) and Error(kBadInput).
void check_hosts(JobSettings& settings);

}  // namespace dtl
