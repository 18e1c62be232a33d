#pragma once
// Writes the file of --report when the job is over. launcher/run checks before the job begins that
// the file can be written.

#include <string>

#include "base/machine/job_record.h"
#include "launcher/report/job_series.h"
#include "launcher/session/epochs.h"

namespace dtl {

// A file whose name ends in .html or .htm is the job's page, any other one JSON. Returns dtlaunch's
// exit status: the job's, or that of a failed write if the job succeeded. Logs a failed write in
// any case. Empty path: no report is wanted. Never throws.
int write_report(const std::string& path, const JobRecord& record, const JobResult& result,
                 const JobSeries& series, int status);

}  // namespace dtl
