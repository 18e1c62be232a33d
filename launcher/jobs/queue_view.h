#pragma once
// The waiting line for `dtlaunch queue`: the tickets of many hosts as one view for each job that
// waits. Pure. Answers come from hosts and are not trusted: a job's id and its place in line are
// what its ticket says.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/jobs/cores_view.h"
#include "launcher/screen/json_answer.h"

namespace dtl {

// What a waiting job wants of a host.
struct WantedCores {
  std::string host;
  std::int64_t cores = 0;
  std::string cpus;       // these; empty: any
  std::int64_t kept = 0;  // free cores that are kept for it
};

// A job that has, or is before it in line for, cores that a waiting job wants.
struct CoreHolder {
  std::string job, user;
  std::int64_t left_s = 0;  // it ends within this time at the latest; 0: it has no limit
  bool waits = false;
};

struct WaitingJob {
  std::size_t position = 0;        // in the line of the host where it is farthest behind; from 1
  std::string job;                 // "?": its tickets say something else
  std::vector<std::string> users;  // usually one: hosts may have other names for the same user
  std::int64_t age_s = 0, arrival_ms = 0;
  std::int64_t runs_s = 0;  // once it has started, at most; 0: without limit
  std::vector<WantedCores> wants;
  std::vector<CoreHolder> waits_for;  // empty: nobody keeps it from starting
  bool more = false;                  // waits_for has a limit, and more jobs would be there
};

// In the order of the line.
std::vector<WaitingJob> fold_line(const std::vector<HostCores>& hosts);

// At most `columns` wide (80 at least); without `columns` nothing is cut, and ids of jobs are
// whole.
std::string queue_table(const std::vector<WaitingJob>& jobs, std::optional<int> columns);

// "no job waits for cores of node1,node2"
std::string empty_line_text(const std::vector<HostCores>& hosts);

// dtlaunch-queue(7) describes it.
std::string queue_json(const std::vector<HostCores>& hosts, const std::vector<WaitingJob>& jobs,
                       const std::vector<Unreachable>& unreachable);

}  // namespace dtl
