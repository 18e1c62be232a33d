#pragma once
// What `dtlaunch history` and `dtlaunch show` print: tables and JSON of records;
// dtlaunch-history(1) describes both. Pure, but for the time zone (TZ).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/history/history_record.h"

namespace dtl {

struct JobSeen {
  HistoryRecord record;
  HistoryStatus status = HistoryStatus::kEnded;
};

// At most `columns` wide (80 at least); without `columns` nothing is cut.
std::string history_table(const std::vector<JobSeen>& jobs, std::int64_t now_ms,
                          std::optional<int> columns);
// An array of objects, one for each job.
std::string history_json(const std::vector<JobSeen>& jobs);

// What it was, how it ended, its timeline, where its files are, its plan.
std::string job_text(const JobSeen& job, std::int64_t now_ms);
// The page of the same, with the report's curves.
std::string job_html(const JobSeen& job);
// An object with the record, card and plan, and as "report" the stored report, or null.
std::string job_json(const JobSeen& job);

}  // namespace dtl
