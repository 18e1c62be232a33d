#pragma once
// Ends every descendant of this process: the caller is a subreaper, so each orphan below it becomes
// its child, and "no children" proves that nothing is left. Used by the guard, and by agent and
// keeper when the guard has died. Blocks. Does not allocate, since memory may be short just then.
// One thread: its tables are static.

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>

namespace dtl {

struct KillCount {
  std::uint32_t killed = 0;      // processes that got SIGKILL
  std::uint32_t unkillable = 0;  // still alive at the deadline
};

// reaped is called for each child that ended (status and usage as from wait4); may be nullptr.
// deadline_ms: of boot_time_ms(); the call returns soon after it, even if processes remain.
using Reaped = void (*)(pid_t pid, int status, const rusage& usage);
KillCount end_descendants(std::int64_t deadline_ms, Reaped reaped);

// Milliseconds of CLOCK_BOOTTIME: monotonic, includes suspended time.
std::int64_t boot_time_ms();

void sleep_ms(int milliseconds);

}  // namespace dtl
