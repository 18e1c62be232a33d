#pragma once
// Cores for `dtlaunch ps --cores` and `dtlaunch queue`: who has which cores of the asked hosts, and
// who waits for them, of all users. Pure. An answer comes from a host, and is not trusted.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

struct ClaimedCores {
  std::string job;   // "?" if it is not the id of a job: anybody may claim anything
  std::string user;  // name or number; "?": unknown
  std::int64_t age_s = 0;
  bool shared = false;  // it leaves them to others
  std::string cpus;     // as the kernel lists them
  std::int64_t cores = 0;
  std::int64_t left_s = 0;  // it ends within this time at the latest; 0: it has no limit
};

// Of a job that waits for cores of the node.
struct WaitingTicket {
  std::string job, user;        // as in ClaimedCores
  std::int64_t age_s = 0;       // since it began to wait
  std::int64_t arrival_ms = 0;  // since 1970, by the clock of its first host: its place in line
  std::int64_t cores = 0;       // that it wants here
  std::string cpus;             // these; empty: any
  std::int64_t runs_s = 0;      // it runs for this long at most; 0: without limit
  std::int64_t kept = 0;        // free cores that are kept for it now
};

struct NodeCores {
  std::string cpus;        // that jobs may use
  std::int64_t cores = 0;  // of these CPUs
  std::string free_cpus;   // that nobody has for itself; empty: none
  std::int64_t free_cores = 0;
  std::vector<ClaimedCores> claims;    // the oldest first
  std::vector<WaitingTicket> waiting;  // in the order of the line
};

// The text of one host's answer to --cores; nullopt if it is anything else.
std::optional<NodeCores> parse_node_cores(std::string_view text);

struct HostCores {
  std::string host;
  NodeCores cores;
};

// The digits of a job's id in a table: the first ones on a terminal, else all.
std::string shown_job(const std::string& job, std::optional<int> columns);

// A table with its header: for each host a row for each claim, one for its free cores, and one for
// each waiting job for which some of these are kept. At most `columns` wide (80 at least); without
// `columns` nothing is cut, and ids of jobs are whole.
std::string cores_table(const std::vector<HostCores>& hosts, std::optional<int> columns);

}  // namespace dtl
