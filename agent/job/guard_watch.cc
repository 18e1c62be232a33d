// A guard that is stopped, or stuck while it kills, is as bad as a dead one: nobody would end the
// ranks. If the guard is running without CPU time, the watch only reports that: the machine is
// busy, and ending the job would not help.
#include "agent/job/guard_watch.h"

#include <fmt/format.h>

#include <utility>

#include "agent/processes/kill_tree.h"
#include "base/limits.h"
#include "base/machine/process_id.h"

namespace dtl {

GuardWatch::GuardWatch(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                       Listeners listeners)
    : tasks_(tasks), connection_(connection), listeners_(std::move(listeners)), link_(context) {}

void GuardWatch::start(const std::string& own_folder, bool waits) {
  StartedGuard guard = start_guard(own_folder);
  process_ = guard.process;
  link_.open(std::move(guard.link));
  // Before all other requests, as the guard's lease runs from its start.
  if (waits) link_.wait_for_agent();
  tasks_.spawn(read());
  tasks_.spawn(link_.run_writer());
}

awaitable<void> GuardWatch::read() {
  for (;;) {
    const std::optional<GuardReport> report = co_await link_.receive();
    if (!report) break;
    // Any report shows that the guard is alive.
    unanswered_ticks_ = 0;
    if (report->news != GuardNews::kAlive) listeners_.report(*report);
  }
  listeners_.lost(GuardGone{});
}

// Counts ticks, not time, which continues while the whole machine is suspended. Waits for a guard
// that runs without CPU time, unless it must end the ranks.
void GuardWatch::tick(const Supervisor& supervisor) {
  if (!link_.is_open()) return;
  if (unanswered_ticks_ < guard_patience(supervisor) / kHeartbeat) {
    ++unanswered_ticks_;
    return link_.tick();
  }
  const bool stopped = process_state(process_) == ProcessState::kStopped;
  if (stopped || supervisor.state == AgentState::kKilling) {
    return listeners_.lost(GuardSilent{process_, stopped});
  }
  if (std::exchange(is_late_, true)) return;
  connection_.send(
      Notice{fmt::format("dtguard (process {}) runs, but had no time for {} s; it "
                         "is waited for",
                         process_, unanswered_ticks_)});
}

}  // namespace dtl
