#pragma once
// JobEvents: --on-event, a user's command that runs at a job's start, failure, restart and end. It
// runs for one event after another, on its own thread. The job waits for it only at its end. If the
// command fails or hangs, the user gets a line; the job is not affected.

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

// One line of JSON for the command's input; dtlaunch(1) documents it. Pure. `now`: by the wall
// clock. Makes text valid UTF-8, because programs may write anything.
std::string event_json(const JobEvent& event, const std::string& job_id, const Reporting& reporting,
                       std::time_t now);

class JobEvents {
 public:
  using Clock = std::chrono::steady_clock;

  // Without reporting.on_event there is no thread, and no command runs. Throws std::system_error if
  // no thread can be started.
  JobEvents(Reporting reporting, std::string job_id);
  ~JobEvents();  // as finish()
  JobEvents(const JobEvents&) = delete;
  JobEvents& operator=(const JobEvents&) = delete;

  void tell(const JobEvent& event);  // from any thread; never blocks
  // Tells of the end: an event from the result and `status`, dtlaunch's exit status. Waits until
  // all events have been told, for at most kEventPatience for the waiting ones and as long again
  // for the last one.
  void finish(const JobResult& result, int status);

 private:
  // An event for the command: its input and its environment.
  struct Told {
    std::string name, json;
    std::vector<std::string> variables;
  };
  // Runs on the thread until the queue is empty and stop() was called.
  void run();
  void stop();
  void run_command(const Told& told, Clock::time_point deadline) const;

  const Reporting reporting_;
  const std::string job_id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Told> waiting_;  // at most kMaxEvents
  bool stopped_ = false;
  Clock::time_point last_deadline_;  // set by the stop
  std::thread thread_;
};

}  // namespace dtl
