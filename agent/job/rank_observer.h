#pragma once
// RankObserver: observes a rank from outside. /proc shows whether its processes compute, sleep,
// swap or are stopped; the pages of its libdtring communicators (base/pages/state_page.h) show what
// they wait for, and its ProgressPage how far it is. One per running rank. Only reports:
// launcher/job/rank_watch.h decides which rank hangs.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/node/tcp_connections.h"
#include "agent/processes/process_table.h"
#include "base/pages/progress_page.h"
#include "base/pages/shared_page.h"
#include "base/pages/state_page.h"
#include "wire/messages.h"

namespace dtl {

// The inodes of the process's open sockets.
std::set<std::uint64_t> sockets_of(pid_t pid);

// A read-only view of one communicator's page.
class SeenPage {
 public:
  // path: of /proc/PID/fd. is_over() at once if it is not such a page, or its owner could shorten
  // it.
  explicit SeenPage(const std::string& path);

  void look();  // counts whether a collective is running
  bool is_over() const { return page_ == nullptr || page_->is_over.load() != 0; }
  std::uint64_t number() const { return page_ == nullptr ? 0 : page_->number; }
  CommState take();  // and resets the counts

 private:
  SeenMemory memory_;
  const StatePage* page_ = nullptr;
  std::uint32_t looks_ = 0, waits_ = 0;
};

class RankObserver {
 public:
  explicit RankObserver(pid_t rank_pid) : rank_pid_(rank_pid), process_(rank_pid) {}

  bool has_pages() const { return !pages_.empty(); }
  void look();
  // processes: all of the machine, see scan_processes; connections: all of the node; now: of
  // CLOCK_BOOTTIME. Counts start at the previous report.
  RankReport report(std::uint32_t rank, std::span<const Process> processes,
                    std::span<const TcpConnection> connections, std::chrono::milliseconds now);
  pid_t process() const { return process_; }  // the process of the last report

 private:
  void choose_process(std::span<const Process> processes);
  void find_pages();
  std::vector<WireState> wires(std::span<const TcpConnection> connections);
  bool computes(std::span<const Process> processes, std::uint64_t span_ms);
  Activity activity(std::span<const Process> processes, std::chrono::milliseconds now);

  const pid_t rank_pid_;
  // The observed process: one with pages, or a Python. The rank may be a shell that started it.
  pid_t process_;
  std::map<std::uint64_t, SeenPage> pages_;      // by inode
  std::string progress_path_;                    // of its progress page; empty: it has none
  TrainingProgress progress_;                    // as it could be read last
  std::map<std::uint64_t, TcpConnection> sent_;  // by inode, as of the last report
  // As of the last report. ticks: running or waiting for a core, over the rank's session.
  std::uint64_t cpu_ticks_ = 0, slices_ = 0, major_faults_ = 0;
  std::chrono::milliseconds reported_{0};
};

}  // namespace dtl
