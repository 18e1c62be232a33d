#pragma once
// dtagent --watch: what the ranks of running jobs do on this node, again and again, for
// `dtlaunch top`. A process of its own that does not talk to the jobs' agents: a fault here cannot
// end a job. It sends no signals and asks ranks nothing. It keeps no file, and ends when its
// standard input ends, as it does when the launcher is gone.

#include <chrono>
#include <string>

#include "base/error.h"

namespace dtl {

struct WatchWish {
  std::string job_id;  // empty: all jobs of this user
  std::chrono::milliseconds period{0};
};

// "JOB" or "all", and "MILLISECONDS" (100 or more). Throws Error(kUsage).
WatchWish parse_watch_wish(const std::string& job, const std::string& period);

// Prints, after the marker line of wire/answer.h, a frame each period, the first one at once:
//   frame BOOT_MS LOAD               CLOCK_BOOTTIME; load of the last minute in hundredths
//   cores TEXT                       a line of cores_text (agent/cores), for each; none: unknown
//   launcher JOB STATE RANKS AGE_S HOSTS COMMAND    that runs here; HOSTS: "node1,node2" or "-"
//   agent JOB RANKS AGE_S            of the job here
//   rank JOB RANK PID STATE CPU_MS MEMORY_KIB THREADS SENT PROGRAM
//   comm ID RANK WORLD BEGUN OPCODE COMPLETED BYTES    of that rank, see CommState
//   progress STEP TOTAL TOKENS LOSS  of that rank, see TrainingProgress
//   end
// CPU_MS, MEMORY_KIB and THREADS are sums over the rank's processes; SENT are bytes that it sent
// over TCP to other hosts since the first frame.
Exit watch_jobs(const WatchWish& wish);

}  // namespace dtl
