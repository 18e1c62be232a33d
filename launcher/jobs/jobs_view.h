#pragma once
// Jobs for `dtlaunch ps`: combines the records of many hosts into one view for each job. Pure. The
// launcher and each agent of a job have their own records in different forms.

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
// Why jobs leave no records on the host; empty: they do.
std::string problem_of_records(std::string_view text);

// The status that ps, kill and clean use. A host that was not asked may know more.
enum class JobStatus {
  kAlive,     // its launcher runs, or an agent does
  kEnded,     // in order, with any exit status
  kLost,      // its launcher was killed, and nothing of it runs on the asked hosts
  kLeftover,  // an agent was killed, and there is no launcher
  kCleaned,   // it was lost, and `dtlaunch clean` has cleaned up
};

// One job, from the records of the asked hosts.
struct JobView {
  std::string id;
  JobRecord record;  // the launcher's; if not seen, ranks and command are from agents
  JobStatus status = JobStatus::kAlive;
  std::string state;  // as ps shows it: "running", "exit 3", "lost", "left over"
  std::string launcher_host;
  bool launcher_seen = false;  // an asked host has the launcher's record
  bool launcher_alive = false;
  Host asked_launcher_host;   // how that host was asked; valid if launcher_seen
  std::vector<Host> agents;   // hosts with a living agent
  std::vector<Host> unclean;  // hosts with a record for `dtlaunch clean`
  bool ended = false;         // its launcher said so, with its exit status
  bool agent_killed = false;  // its record is still there
  int nodes = 0;
};

// In order of their start.
std::vector<JobView> fold_jobs(const std::vector<SeenRecord>& records);

// The one job whose id begins with `prefix`. Throws Error(kBadInput) if there is none, more than
// one, or another job with this tag.
const JobView& find_job(const std::vector<JobView>& jobs, const std::string& prefix);

// A table with its header, at most `columns` wide (80 at least); without `columns` nothing is cut.
// With `epochs`, a restarted job has a line for each earlier epoch. now: seconds since 1970. A
// job's nodes and ranks have a "+" if its launcher was not asked: there may be more.
std::string jobs_table(const std::vector<JobView>& jobs, std::int64_t now,
                       std::optional<int> columns, bool epochs = false);

// At most `width` bytes (1 or more); a '>' at the end shows that text was cut.
std::string fit_column(const std::string& text, std::size_t width);

}  // namespace dtl
