#pragma once
// MetricsFile: keeps the file of --metrics-file up to date while a job runs. Its own thread writes,
// so a slow disk never delays the job. The job does not depend on it: a failed write is one notice.
// If dtlaunch is killed, the file keeps its last values; their time is among them.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "launcher/report/metrics_text.h"
#include "launcher/session/session.h"

namespace dtl {

class MetricsFile {
 public:
  // Writes at once. An empty path: nothing is wanted. first: what is known before the start.
  MetricsFile(std::string path, JobMetrics first);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // The hooks, which also tell this object. It must outlive the session.
  SessionHooks watching(SessionHooks hooks);
  void restarting(int restarts);
  // Writes for the last time, and returns when that is done.
  void ended(int exit_status);

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void stop();
  // Changes the facts, for the thread to write soon.
  template <class Change>
  void change(Change change);
  void write();  // what is known now

  const std::string path_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;  // of the next three
  std::condition_variable changed_;
  JobMetrics metrics_;
  bool is_new_ = false, stopped_ = false;
  std::mutex writing_;  // of the file and the next one
  bool has_failed_ = false;
  std::thread thread_;
};

}  // namespace dtl
