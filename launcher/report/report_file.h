#pragma once
// The file of --report, written when the job is over. launcher/run checks before the job begins
// that the file can be written.

#include <string>

#include "launcher/session/epochs.h"

namespace dtl {

// Returns the exit status of dtlaunch: the job's, or, where the job ended well, that of the failure
// to write. That failure is logged in any case. path may be empty: no report is wanted.
// Never throws.
int write_report(const std::string& path, const JobResult& result, int status);

}  // namespace dtl
