#pragma once
// HistoryRecord: what is kept of one job, as a value, and what its status is now. Its texts are
// masked and printable before they are stored.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/process_id.h"

namespace dtl {

struct HistoryRecord {
  std::string job_id;
  ProcessId process;                    // the launcher
  std::int64_t began_ms = 0;            // since 1970
  std::optional<std::int64_t> took_ms;  // absent: no end was recorded
  int exit_status = 0;                  // once ended
  std::string cause;                    // once ended: as in the report
  int ranks = 0;                        // 0: not placed yet
  std::vector<std::string> hosts;
  std::string command;
  std::string folder;  // dtlaunch's working folder
  std::vector<std::string> tags;
  bool detached = false;
  std::string log_directory;  // --log-dir on the hosts; empty: none
  std::string kept_folder;    // a detached job's; empty: none
  std::string report_file;    // --report; empty: none
  std::string outer_job;      // the job one of whose ranks started this one; empty: none

  // Only for a single job, because they may be large. Empty before the end.
  std::string card;    // the failure card; empty: none
  std::string plan;    // a table
  std::string report;  // JSON
};

// How long jobs are kept; whichever limit is reached first.
struct HistoryLimits {
  int days = 90;  // 0: the job is not recorded
  std::int64_t bytes = std::int64_t{1} << 30;
};

enum class HistoryStatus {
  kRunning,
  kWaiting,  // in line for cores
  kEnded,
  kLost,     // its launcher was killed
  kUnknown,  // its launcher was in a container whose processes cannot be seen from here
};
// Never kWaiting, which only the job's record of the present state tells.
HistoryStatus status_of(const HistoryRecord& record);

// "running", "waiting", "exit 3", "timeout", "hang", "lost", "unknown".
std::string status_text(const HistoryRecord& record, HistoryStatus status);

// Ended with a status other than 0, or lost.
bool has_failed(const HistoryRecord& record, HistoryStatus status);

}  // namespace dtl
