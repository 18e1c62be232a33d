#pragma once
// The page about a job that --report and `dtlaunch show --html` write: how it ended, its timeline,
// what its ranks used, its plan. It needs no network, no script and no other file. It can be made
// for any job of the history, also for one that is lost or of an older version: what is not known
// is left out, and the page says if curves are missing. Pure, but for the time zone (TZ).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

// What the page shows beside the report. Texts are masked.
struct JobPage {
  std::string job_id, command, folder;
  std::string launcher_host;  // where dtlaunch ran
  std::vector<std::string> hosts, tags;
  std::int64_t began_ms = 0;  // since 1970
  // "ended"; or of a job without a report: "running", "waiting", "lost", "unknown"
  std::string status = "ended";
  int exit_status = 0;           // once ended: of dtlaunch
  std::optional<double> took_s;  // absent: unknown
  std::string card;              // the failure card; empty: none
  std::string report;            // JSON; empty: none
};

std::string job_page(const JobPage& page);

}  // namespace dtl
