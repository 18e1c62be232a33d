// One task does both: it reads pages often, as that is cheap. It reads /proc only for a report, as
// that scans all processes.
#include "agent/job/running_ranks.h"

#include <algorithm>
#include <span>
#include <string>

#include "agent/node/tcp_connections.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "base/limits.h"
#include "base/machine/process_id.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

BootTime report_time() {
  return BootTime(boot_time_ms());
}

}  // namespace

RunningRanks::RunningRanks(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                           const Supervisor& supervisor)
    : context_(context), tasks_(tasks), connection_(connection), supervisor_(supervisor) {}

// Does not report brief stops: a debugger or a test may cause them. Nor stops that we caused: ^Z at
// the launcher stops the ranks, and so may a debugger that reads their stacks.
void RunningRanks::look_for_stopped() {
  constexpr int kLooks = 3;  // 2 s
  const bool expected = supervisor_.paused || supervisor_.state == AgentState::kAsking;
  for (auto& [number, rank] : ranks_) {
    const bool stopped = !expected && process_state(rank.process) == ProcessState::kStopped;
    rank.stopped_looks = stopped ? std::min(rank.stopped_looks + 1, kLooks + 1) : 0;
    // Reported once for each stop: the count then goes beyond kLooks.
    if (rank.stopped_looks != kLooks) continue;
    connection_.send(Notice{"rank " + std::to_string(number) +
                            " is stopped (state T); it goes on after: kill -CONT " +
                            std::to_string(rank.process)});
  }
}

std::vector<RunningRanks::RankProcess> RunningRanks::processes() const {
  std::vector<RankProcess> processes;
  for (const auto& [number, rank] : ranks_) processes.emplace_back(number, rank.process);
  return processes;
}

std::vector<RunningRanks::RankProcess> RunningRanks::seen_processes() const {
  std::vector<RankProcess> processes;
  for (const auto& [number, rank] : ranks_) {
    // A debugger should examine the Python, not the shell that started it.
    processes.emplace_back(number, rank.observer ? rank.observer->process() : rank.process);
  }
  return processes;
}

void RunningRanks::report(BootTime period) {
  period_ = period;
  if (period.count() > 0 && !std::exchange(reports_, true)) tasks_.spawn(keep_reporting());
}

awaitable<void> RunningRanks::keep_reporting() {
  asio::steady_timer timer(context_);
  // A hang right at the start should show before a whole period has passed.
  const BootTime first = std::min(period_, BootTime(kFirstReport));
  for (BootTime next = report_time() + first; period_.count() > 0;) {
    const bool has_pages = !supervisor_.paused && look();
    const BootTime at = report_time();
    if (at >= next) {
      next = at + period_;
      // Ranks that are paused or ending would look as if they hung.
      if (!supervisor_.paused && supervisor_.state == AgentState::kServing) tell_states();
    }
    // Without pages nothing changes between two reports.
    timer.expires_after(has_pages ? std::min(BootTime(kLookAtRanks), period_)
                                  : std::max(next - at, BootTime(1)));
    co_await timer.async_wait(asio::use_awaitable);
  }
  reports_ = false;
}

bool RunningRanks::look() {
  bool has_pages = false;
  for (auto& [number, rank] : ranks_) {
    if (!rank.observer) continue;
    rank.observer->look();
    has_pages = has_pages || rank.observer->has_pages();
  }
  return has_pages;
}

void RunningRanks::tell_states() {
  const std::span<const Process> processes = scan_processes();
  const std::vector<TcpConnection> connections = tcp_connections();
  const BootTime at = report_time();
  RankStates states;
  for (auto& [number, rank] : ranks_) {
    if (!rank.observer) rank.observer.emplace(rank.process);
    states.ranks.push_back(rank.observer->report(number, processes, connections, at));
    // The limit of one message.
    if (states.ranks.size() == kMaxReports) connection_.send(std::exchange(states, {}));
  }
  if (!states.ranks.empty()) connection_.send(std::move(states));
}

}  // namespace dtl
