#pragma once
// What hosts are asked for beside their names, pins and interfaces: what is wrong with it is told
// before any host is spoken to. Pure.

#include "launcher/request/job_request.h"

namespace dtl {

// Adds notes about pins to the settings'. Throws Error(kUsage) and Error(kBadInput).
void check_hosts(JobSettings& settings);

}  // namespace dtl
