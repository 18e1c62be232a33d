#pragma once
// The limits that control groups, version 1 or 2, set for this process: CPU time and memory. The
// tightest limit of the group and all groups above it counts, as it does for the kernel. Agents
// tell them to the plan, which counts threads by the quota.

#include <cstdint>
#include <string>

namespace dtl {

struct CgroupLimits {
  double quota_cpus = 0;           // in CPUs; 0: none
  std::uint64_t memory_bytes = 0;  // 0: none
};

// root is put before every path: "" on a real machine, a folder in the tests. Never throws; what
// cannot be read is no limit.
CgroupLimits read_cgroup_limits(const std::string& root);

// How many processes the kernel has killed for want of memory. Read before and after, it tells
// whether a SIGKILL came from the kernel.
struct OomKills {
  std::uint64_t in_group = 0;  // in our group or one above it, where that is counted
  std::uint64_t on_node = 0;
};
OomKills count_oom_kills(const std::string& root);

}  // namespace dtl
