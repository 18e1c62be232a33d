#pragma once
// What processes of a rank use, from /proc. Values of a process that cannot be read are 0.

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "agent/processes/process_table.h"
#include "wire/messages.h"

namespace dtl {

struct ProcessUsage {
  char state = '?';  // of proc_pid_stat(5)
  std::uint64_t major_faults = 0;
  std::uint64_t cpu_ticks = 0;    // user and system, of all threads
  std::uint64_t threads = 0;      // 0 for a zombie
  std::uint64_t start_ticks = 0;  // after boot
  std::uint64_t memory_kib = 0;   // resident
};
ProcessUsage usage_of(pid_t pid);

// Milliseconds, for ticks.
std::uint64_t milliseconds_of(std::uint64_t ticks);

// The sum over all processes of the rank's session. processes: see scan_processes. Memory that
// several of them share counts once for each.
RankUsage usage_of_rank(std::span<const Process> processes, pid_t rank_pid);

}  // namespace dtl
