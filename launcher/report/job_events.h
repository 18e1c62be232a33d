#pragma once
// JobEvents: --on-event. A command of the user's that hears of a job's start, failure, restart and
// end: one after the other, on a thread of its own, so that the job never waits for it but at its
// end.

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
std::string event_json(const JobEvent& event, const std::string& job_id, const Reporting& reporting,
                       std::time_t now);

class JobEvents {
 public:
  using Clock = std::chrono::steady_clock;

  // Without reporting.on_event nobody hears of anything. Throws std::system_error for want of a
  // thread.
  JobEvents(Reporting reporting, std::string job_id);
  ~JobEvents();  // as finish()
  JobEvents(const JobEvents&) = delete;
  JobEvents& operator=(const JobEvents&) = delete;

  void tell(const JobEvent& event);  // from any thread; never blocks
  // The end, without what the result says. Waits until all has been told, kEventPatience at most
  // for what is still to be told and for the last one.
  void finish(const JobResult& result, int status);

 private:
  struct Told {
    std::string name, json;
    std::vector<std::string> variables;
  };
  void run();
  void stop();
  void run_command(const Told& told, Clock::time_point deadline) const;

  const Reporting reporting_;
  const std::string job_id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Told> waiting_;
  bool stopped_ = false;
  Clock::time_point last_deadline_;  // once stopped
  std::thread thread_;
};

}  // namespace dtl
