#pragma once
// The words of a job's page: how jobs, epochs and ranks ended. Pure, but for the time zone (TZ).

#include <cstdint>
#include <string>

#include "launcher/report/job_page.h"
#include "launcher/report/reported_job.h"

namespace dtl {

// "rank 3 on node2 ended with status 1"; empty if nothing failed.
std::string failure_words(const ReportedEnd& end);
// "succeeded in 3 min 12 s", "failed after 12.5 s: rank 3 on node2 ended with status 1".
std::string verdict_words(const JobPage& page, const ReportedJob& job);
// "status 1", "SIGKILL", "lost"; with what it followed from.
std::string end_words(const ReportedRank& rank);

// "2026-11-30 09:30:00 +0100 (CET)"
std::string local_date(std::int64_t ms);

}  // namespace dtl
