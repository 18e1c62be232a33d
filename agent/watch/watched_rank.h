#pragma once
// WatchedRank: one running rank that `dtlaunch top` watches from outside. It only reads /proc and
// the pages that the rank shows, so it cannot disturb the job. Counts go up from frame to frame;
// the launcher makes rates of them. Owned by watch_jobs(); one thread.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/ask/found_ranks.h"
#include "agent/job/rank_observer.h"
#include "agent/node/tcp_connections.h"
#include "agent/processes/process_table.h"

namespace dtl {

class WatchedRank {
 public:
  WatchedRank(std::string job_id, const FoundRank& found);

  // Its lines of a frame (watch_jobs.h). processes: all of the machine, see scan_processes;
  // connections: all of the node; now: of CLOCK_BOOTTIME.
  std::string lines(std::span<const Process> processes, std::span<const TcpConnection> connections,
                    std::chrono::milliseconds now);

 private:
  std::string job_id_;
  int rank_;  // -1: unknown
  RankObserver observer_;
  std::string program_;
  std::uint64_t sent_ = 0;  // bytes over TCP to other hosts since it is watched
};

}  // namespace dtl
