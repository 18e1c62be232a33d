#pragma once
// Checks with dttrain whether it accepts a command line. A plan only shows the command, and an
// unknown setting would otherwise fail only when the job starts.

#include <string>

#include "plan/request/request.h"

namespace dtl {

// Does nothing for other programs, or if `folder` has no dttrain. Throws Error(kBadInput) after
// dttrain has printed the reason on standard error. Blocks.
void check_trainer_lines(const Request& request, const std::string& folder);

}  // namespace dtl
