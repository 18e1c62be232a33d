#pragma once
// TrainJobReporter: tells Kubeflow's Trainer how far the job's training is, if this runs in a pod
// whose variables say where. Its own thread posts, so a slow server delays neither the job nor its
// output. The job does not depend on it: the first failure and its end are notices, later ones are
// silent.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "launcher/session/session.h"
#include "launcher/trainjob/status_server.h"
#include "launcher/trainjob/trainjob_status.h"

namespace dtl {

class TrainJobReporter {
 public:
  // nullopt: off. Throws std::system_error if no thread can be started.
  explicit TrainJobReporter(std::optional<StatusServer> server);
  ~TrainJobReporter();  // as finish()
  TrainJobReporter(const TrainJobReporter&) = delete;
  TrainJobReporter& operator=(const TrainJobReporter&) = delete;

  // The server of this process's variables; with a notice and nullopt if they are wrong.
  static std::optional<StatusServer> server_here();

  // The hooks, which also tell this object. It must outlive the session.
  SessionHooks watching(SessionHooks hooks);
  void restarting();
  // Begins the last post and returns.
  void ended(int exit_status);
  // Returns when the last post is done, at most kPatience after ended().
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{5};  // for one post, and for the last
  static constexpr std::chrono::seconds kShortPatience{
      1};  // for the last, if the one before failed
  static constexpr std::chrono::milliseconds kLastPause{500};  // before its second attempt

  void run();
  void stop(std::optional<int> exit_status);
  void post_last();
  // Whether the server has taken it.
  bool post(const std::string& text, Clock::time_point deadline);
  double seconds() const;  // since the job began

  const std::optional<StatusServer> server_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;  // of the next five
  std::condition_variable changed_;
  TrainJobStatus status_;
  bool stopped_ = false;
  std::optional<int> exit_status_;  // of the job; absent: there is no last post
  Clock::time_point last_deadline_;
  // The thread's own:
  PostPace pace_;
  bool has_spoken_ = false, must_tell_recovery_ = false;
  std::thread thread_;
};

}  // namespace dtl
