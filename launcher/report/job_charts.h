#pragma once
// The curves of a job's page, from the series of its report. Pure.

#include <string>
#include <vector>

#include "launcher/report/reported_job.h"

namespace dtl {

// Up to 8 ranks have a curve each. Of more ranks there are the lowest, the median and the highest
// at each time.
// Without any, empty.
std::string job_charts_html(const ReportedJob& job);

// A curve for each of job.ranks in its order: its cores over time. Empty if they are not known one
// by one.
std::vector<std::vector<double>> core_curves(const ReportedJob& job);

}  // namespace dtl
