#pragma once
// Lines that many hosts have in common are one line: "n[1-63]: no sign of life for 3 s". A message
// about 1,000 hosts must stay readable. Pure.

#include <string>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/session/session_node.h"

namespace dtl {

// Joins the notices of one event that say the same about several nodes, at the place of the first.
std::vector<job::Effect> fold_notices(std::vector<job::Effect> effects, const SessionNodes& nodes);

// Why hosts could not be started, in the order of the hosts. More than three whose lines differ
// only in the host's name and address are one line, with the first one's hint.
std::vector<std::string> fold_start_errors(const SessionNodes& nodes);

}  // namespace dtl
