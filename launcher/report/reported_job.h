#pragma once
// ReportedJob: a report as report_json() or an older dtlaunch wrote it, read as a plain value. What
// the report lacks stays empty, also if its type is another one. Texts may be anything, and no time
// or number is trusted beyond being finite. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtl {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// How a job or an epoch ended.
struct ReportedEnd {
  int exit_status = 0;
  std::string cause;  // cause_name()
  int rank = -1;      // -1: no rank's
  std::string host, signal, text;
};

// All times are in seconds since the job began.
struct ReportedEpoch {
  double began = 0, ended = 0;
  std::vector<std::string> hosts, left_out;
  int ranks = 0;
  ReportedEnd end;
  double lost = 0;  // until all ranks ran again; 0: never
  std::string not_started_again;
};

struct ReportedHost {
  std::string name, address, interface;
  std::optional<double> up, finished;
};

struct ReportedRank {
  int rank = 0;
  std::string host, cpus, end, signal;
  std::optional<double> pid, status, started, ended, max_rss_kib;
  std::optional<double> cpu_s, sent_bytes, collective_bytes, output_bytes;
  bool ended_by_us = false, consequence = false;
  double oom_kills = 0;
};

// Values by name: of ranks ("0", "1" ... or "lowest", "median", "highest"); NaN: unknown.
using ReportedCurves = std::vector<std::pair<std::string, std::vector<double>>>;

struct ReportedJob {
  ReportedEnd end;
  double total = 0;
  std::vector<std::pair<std::string, double>> phases;  // of the last epoch, with their durations
  std::vector<ReportedEpoch> epochs;
  std::vector<ReportedHost> hosts;
  std::vector<ReportedRank> ranks;
  double point_s = 0;                            // of the series; 0: none
  std::map<std::string, ReportedCurves> series;  // by metric; of the job: a curve without a name
  int world_size = 0;
  std::string master;
  NamedTexts programs;  // its ranks and command
  NamedTexts environment, versions;
  std::vector<std::string> network, warnings, messages;
  double dropped_bytes = 0;
};

// nullopt if the text is not a report.
std::optional<ReportedJob> parse_report(std::string_view json);

}  // namespace dtl
