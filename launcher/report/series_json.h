#pragma once
// The member `series` of a report, as JSON: dtlaunch(1), REPORT. Pure.

#include <string>

#include "launcher/report/job_series.h"

namespace dtl {

// An object without line end, a line for each curve; at most 64 KiB. Empty: fewer than two points
// are known, which make no curve.
std::string series_json(const JobSeries& series);

}  // namespace dtl
