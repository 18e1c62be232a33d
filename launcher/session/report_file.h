#pragma once
// The file of --report.

#include <string>

#include "launcher/session/epochs.h"

namespace dtl {

// Hours of computing must not end in a report that has nowhere to go. Throws Error(kCannotWrite).
void check_report_can_be_written(const std::string& path);

// The exit status: the job's, or that of the failure to write, which is told, where all was well.
// path may be empty: no report is wanted.
int write_report(const std::string& path, const JobResult& result, int status);

}  // namespace dtl
