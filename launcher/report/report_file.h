#pragma once
// Writes the file of --report when the job is over. launcher/run checks before the job begins that
// the file can be written.

#include <string>

#include "launcher/report/job_series.h"
#include "launcher/session/epochs.h"

namespace dtl {

// Returns dtlaunch's exit status: the job's, or that of a failed write if the job succeeded. Logs a
// failed write in any case. Empty path: no report is wanted. Never throws.
int write_report(const std::string& path, const JobResult& result, const JobSeries& series,
                 int status);

}  // namespace dtl
