#pragma once
// Asks dttrain whether it takes a command line. A plan shows what would be run, and a setting that
// dttrain does not have would otherwise show only when the job starts.

#include <string>

#include "plan/request/request.h"

namespace dtl {

// Does nothing for other programs, and where no dttrain is in `folder`. Throws Error(kBadInput);
// dttrain itself has then said on standard error what is wrong. Blocks.
void check_trainer_lines(const Request& request, const std::string& folder);

}  // namespace dtl
