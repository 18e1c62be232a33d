// A guard that is stopped, or stuck while it kills, is as bad as a dead one: nobody would end the
// ranks. A guard that runs and gets no CPU time is only said to be late: the machine is busy, and
// ending the job would not help.
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
  // Before every other request, as the guard's lease runs from its start.
  if (waits) link_.wait_for_agent();
  tasks_.spawn(read());
  tasks_.spawn(link_.run_writer());
}

awaitable<void> GuardWatch::read() {
  for (;;) {
    const std::optional<GuardReport> report = co_await link_.receive();
    if (!report) break;
    // Every report shows that it lives, whatever it is about.
    unanswered_ticks_ = 0;
    if (report->news != GuardNews::kAlive) listeners_.report(*report);
  }
  listeners_.lost(GuardGone{});
}

// Counts ticks and not time, which goes on while the whole machine is stopped. A guard that runs
// and gets no CPU time is waited for, unless it has to end the ranks.
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
