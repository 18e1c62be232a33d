#pragma once
// Cores for `dtlaunch ps --cores`: who has which cores of the asked hosts, of all users. Pure. An
// answer comes from a host, and is not trusted.

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
};

struct NodeCores {
  std::string cpus;        // that jobs may use
  std::int64_t cores = 0;  // of these CPUs
  std::string free_cpus;   // that nobody has for itself; empty: none
  std::int64_t free_cores = 0;
  std::vector<ClaimedCores> claims;  // the oldest first
};

// The text of one host's answer to --cores; nullopt if it is anything else.
std::optional<NodeCores> parse_node_cores(std::string_view text);

struct HostCores {
  std::string host;
  NodeCores cores;
};

// A table with its header: a row for each claim, and one for what is free of each host. At most
// `columns` wide (80 at least); without `columns` nothing is cut, and ids of jobs are whole.
std::string cores_table(const std::vector<HostCores>& hosts, std::optional<int> columns);

}  // namespace dtl
