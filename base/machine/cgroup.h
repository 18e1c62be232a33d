#pragma once
// The limits that control groups, version 1 or 2, set for this process: CPU time and memory. As in
// the kernel, the tightest limit of the group and all groups above it counts. Agents send them to
// the plan, which chooses thread counts by the quota.

#include <cstdint>
#include <string>

namespace dtl {

struct CgroupLimits {
  double quota_cpus = 0;           // in CPUs; 0: none
  std::uint64_t memory_bytes = 0;  // 0: none
};

// root is prepended to every path: "" on a real machine, a folder in tests. Never throws; a value
// that cannot be read counts as no limit.
CgroupLimits read_cgroup_limits(const std::string& root);

// How many processes the kernel has killed for lack of memory. Read before and after, the counts
// show whether a SIGKILL came from the kernel.
struct OomKills {
  std::uint64_t in_group = 0;  // in our group or one above it, if counted there
  std::uint64_t on_node = 0;
};
OomKills count_oom_kills(const std::string& root);

}  // namespace dtl
