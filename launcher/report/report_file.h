#pragma once
// The file of --report.

#include <string>

#include "launcher/session/epochs.h"

namespace dtl {

// The exit status: the job's, or that of the failure to write, which is told, where all was well.
// path may be empty: no report is wanted.
int write_report(const std::string& path, const JobResult& result, int status);

}  // namespace dtl
