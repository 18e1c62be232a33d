#pragma once
// What `ps --json` and `ps --cores --json` print: dtlaunch-json(7). Scripts read the names of the
// members, so these must stay. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/jobs/cores_view.h"
#include "launcher/jobs/jobs_view.h"
#include "launcher/screen/json_answer.h"

namespace dtl {

// now: seconds since 1970
std::string jobs_json(const std::vector<JobView>& jobs, std::int64_t now,
                      const std::vector<Unreachable>& unreachable);

std::string cores_json(const std::vector<HostCores>& hosts,
                       const std::vector<Unreachable>& unreachable);

}  // namespace dtl
