#pragma once
// What the control groups of this process, version 1 or 2, leave it: CPU time and memory. The
// tightest limit of the group and all groups above it counts.

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

// How many processes the kernel has killed for want of memory.
struct OomKills {
  std::uint64_t in_group = 0;  // in our group or one above it, where that is counted
  std::uint64_t on_node = 0;
};
OomKills count_oom_kills(const std::string& root);

}  // namespace dtl
