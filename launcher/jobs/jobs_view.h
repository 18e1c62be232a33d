#pragma once
// Jobs as `dtlaunch ps` sees them: the records of many hosts, folded into one view for each job.
// Pure. A launcher and each agent of a job have a record of their own, in their own words; here
// they meet.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/job_record.h"
#include "plan/request/host.h"

namespace dtl {

struct SeenRecord {
  Host host;  // that was asked
  JobRecord record;
  bool alive = false;  // its process runs
};

// The text of one host's answer to --jobs.
std::vector<SeenRecord> parse_job_list(const Host& host, std::string_view text);
// What the host says about why jobs leave no records there; empty: they do.
std::string problem_of_records(std::string_view text);

// What ps, kill and clean agree on. A host that was not asked may know better.
enum class JobStatus {
  kAlive,     // its launcher runs, or an agent does
  kEnded,     // in order, whatever its exit status
  kLost,      // its launcher was killed, and nothing of it runs on the hosts that were asked
  kLeftover,  // an agent was killed, and its launcher is not there
  kCleaned,   // it was lost, and `dtlaunch clean` has seen to it
};

// One job, as far as the hosts that were asked know it.
struct JobView {
  std::string id;
  JobRecord record;  // the launcher's; where that was not seen, ranks and command are its agents'
  JobStatus status = JobStatus::kAlive;
  std::string state;  // as ps shows it: "running", "exit 3", "lost", "left over"
  std::string launcher_host;
  bool launcher_seen = false;  // one of the hosts that were asked has the launcher's record
  bool launcher_alive = false;
  Host asked_launcher_host;   // the same host as it was asked; valid when launcher_seen
  std::vector<Host> agents;   // hosts with a living agent
  std::vector<Host> unclean;  // hosts with a record for `dtlaunch clean`
  bool ended = false;         // its launcher has said so, with its exit status
  bool agent_killed = false;  // its record is still there
  int nodes = 0;
};

// In order of their start.
std::vector<JobView> fold_jobs(const std::vector<SeenRecord>& records);

// The one job whose id begins with `prefix`. Throws Error(kBadInput) when there is none, more than
// one, or a tag of another job that is the same.
const JobView& find_job(const std::vector<JobView>& jobs, const std::string& prefix);

// A table with its header, at most `columns` wide (80 at least). Without `columns` nothing is cut.
// With `epochs`, a job that was restarted has a line for each earlier life. now: seconds since
// 1970. The nodes and ranks of a job have a "+" when its launcher was not asked: there may be more.
std::string jobs_table(const std::vector<JobView>& jobs, std::int64_t now,
                       std::optional<int> columns, bool epochs = false);

// "12s", "3m", "2h05m", "4d"
std::string age_text(std::int64_t seconds);

}  // namespace dtl
