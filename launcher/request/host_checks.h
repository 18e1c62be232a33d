#pragma once
// Checks what hosts are asked for beside their names: pins and interfaces. A mistake is told before
// any host is spoken to; otherwise it would be found only after all agents have come up. Pure.

#include "launcher/request/job_request.h"

namespace dtl {

// Adds notes about pins to the settings'. Throws Error(kUsage) and Error(kBadInput).
void check_hosts(JobSettings& settings);

}  // namespace dtl
