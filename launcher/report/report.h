#pragma once
// The text of --report: a finished job as JSON, whose fields dtlaunch(1) documents. report_file.h
// writes the file. Pure.

#include <string>

#include "launcher/report/job_series.h"
#include "launcher/session/epochs.h"

namespace dtl {

// Masks values of variables whose names look secret, and passwords in URLs. Unless a field names an
// epoch, it describes the last one.
std::string report_json(const JobResult& job, const JobSeries& series = {});

}  // namespace dtl
