#include "agent/job/process_usage.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "agent/job/failure_evidence.h"

namespace dtl {

// Fields 3, 12, 14, 15, 20, 22 and 24 of proc_pid_stat(5).
ProcessUsage usage_of(pid_t pid) {
  static const auto page_kib = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  const std::string text = read_up_to("/proc/" + std::to_string(pid) + "/stat", 1024);
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  ProcessUsage usage;
  unsigned long long faults = 0, user = 0, system = 0, threads = 0, start = 0, pages = 0;
  if (name_end == std::string::npos ||
      std::sscanf(text.c_str() + name_end + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %llu %*u %llu %llu %*d %*d %*d %*d %llu "
                  "%*d %llu %*u %llu",
                  &usage.state, &faults, &user, &system, &threads, &start, &pages) != 7) {
    return {};
  }
  usage.major_faults = faults;
  usage.cpu_ticks = user + system;
  usage.threads = usage.state == 'Z' ? 0 : threads;
  usage.start_ticks = start;
  usage.memory_kib = pages * page_kib;
  return usage;
}

std::uint64_t milliseconds_of(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return ticks * 1000 / per_second;
}

RankUsage usage_of_rank(std::span<const Process> processes, pid_t rank_pid) {
  RankUsage sum;
  for (const Process& process : processes) {
    if (process.session != rank_pid && process.pid != rank_pid) continue;
    const ProcessUsage usage = usage_of(process.pid);
    sum.cpu_ms += milliseconds_of(usage.cpu_ticks);
    sum.memory_kib += usage.memory_kib;
    sum.threads += usage.threads;
  }
  return sum;
}

}  // namespace dtl
