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

}  // namespace dtl
