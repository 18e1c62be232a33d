#pragma once
// RunningRanks: the processes of this node's ranks from start to end, observed from outside:
// RankStates for the launcher, and a notice about stopped ranks. Owned by the session; one
// io_context thread. Knows nothing of pipes, and sends no signals.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/job/rank_observer.h"
#include "agent/job/supervisor.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class RunningRanks {
 public:
  using RankProcess = std::pair<std::uint32_t, pid_t>;  // a rank's

  // supervisor: read only, whether the ranks should be running. All references outlive this.
  RunningRanks(asio::io_context& context, TaskGroup& tasks, Connection& connection,
               const Supervisor& supervisor);

  void started(std::uint32_t rank, pid_t process) { ranks_[rank].process = process; }
  void ended(std::uint32_t rank) { ranks_.erase(rank); }
  void look_for_stopped();       // once a second
  void report(BootTime period);  // from now on; 0: stop
  std::vector<RankProcess> processes() const;
  std::vector<RankProcess> seen_processes() const;  // those of the last reports

 private:
  struct Rank {
    pid_t process = 0;
    int stopped_looks = 0;                 // how many looks in a row saw it stopped
    std::optional<RankObserver> observer;  // from the first report on
  };
  awaitable<void> keep_reporting();
  bool look();  // true if any rank has pages
  void tell_states();

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const Supervisor& supervisor_;
  std::map<std::uint32_t, Rank> ranks_;
  BootTime period_{};     // 0: no reports wanted
  bool reports_ = false;  // the task is running
};

}  // namespace dtl
