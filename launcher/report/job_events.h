#pragma once
// JobEvents: --on-event, a command of the user's that hears of a job's start, failure, restart and
// end. It runs for one event after the other, on a thread of its own. So the job never waits for
// it, except at its end. A command that fails or hangs costs a line for the user, and never the
// job.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "launcher/session/epochs.h"

namespace dtl {

// The JSON that the command reads, a line, as dtlaunch(1) documents it. Pure. `now`: by the wall
// clock.
// Text that is not UTF-8 is made valid: programs may write anything.
std::string event_json(const JobEvent& event, const std::string& job_id, const Reporting& reporting,
                       std::time_t now);

class JobEvents {
 public:
  using Clock = std::chrono::steady_clock;

  // Without reporting.on_event there is no thread, and nobody hears of anything. Throws
  // std::system_error where no thread can be started.
  JobEvents(Reporting reporting, std::string job_id);
  ~JobEvents();  // as finish()
  JobEvents(const JobEvents&) = delete;
  JobEvents& operator=(const JobEvents&) = delete;

  void tell(const JobEvent& event);  // from any thread; never blocks
  // Tells of the end, whose event is made of the result and `status`, the exit status of dtlaunch.
  // Waits until all events have been told, for at most kEventPatience for the waiting ones and as
  // long again for the last one.
  void finish(const JobResult& result, int status);

 private:
  // An event as the command gets it: on its input, and in its environment.
  struct Told {
    std::string name, json;
    std::vector<std::string> variables;
  };
  // On the thread: until the queue is empty and stop() was called.
  void run();
  void stop();
  void run_command(const Told& told, Clock::time_point deadline) const;

  const Reporting reporting_;
  const std::string job_id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Told> waiting_;  // at most kMaxEvents
  bool stopped_ = false;
  Clock::time_point last_deadline_;  // once stopped
  std::thread thread_;
};

}  // namespace dtl
