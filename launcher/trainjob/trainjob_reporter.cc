#include "launcher/trainjob/trainjob_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "launcher/trainjob/status_post.h"

namespace dtl {

std::optional<StatusServer> TrainJobReporter::server_here() {
  try {
    return find_status_server([](const char* name) { return std::getenv(name); });
  } catch (const Error& error) {
    log_notice(error.what());
    return std::nullopt;
  }
}

TrainJobReporter::TrainJobReporter(std::optional<StatusServer> server)
    : server_(std::move(server)) {
  if (server_) thread_ = std::thread([this] { run(); });
}

TrainJobReporter::~TrainJobReporter() {
  finish();
}

double TrainJobReporter::seconds() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

SessionHooks TrainJobReporter::watching(SessionHooks hooks) {
  if (!server_) return hooks;
  hooks.seen = [this, told = std::move(hooks.seen)](const RankReport& report) {
    bool is_new = false;
    {
      const std::lock_guard lock(mutex_);
      status_.add(report, seconds());
      is_new = status_.has_news();
    }
    if (is_new) changed_.notify_one();
    if (told) told(report);
  };
  return hooks;
}

void TrainJobReporter::restarting() {
  const std::lock_guard lock(mutex_);
  status_.restart();
}

void TrainJobReporter::ended(int exit_status) {
  stop(exit_status);
}

void TrainJobReporter::finish() {
  stop(std::nullopt);
  if (thread_.joinable()) thread_.join();
}

void TrainJobReporter::stop(std::optional<int> exit_status) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    exit_status_ = exit_status;
    last_deadline_ = Clock::now() + kPatience;
  }
  changed_.notify_one();
}

void TrainJobReporter::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by the job's thread
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || status_.has_news(); });
    const auto next = began_ + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(pace_.next()));
    changed_.wait_until(lock, next, [this] { return stopped_; });
    if (stopped_) break;
    const double now = seconds();
    const std::string text = status_.text(now, std::time(nullptr));
    lock.unlock();
    pace_.posted(now, post(text, Clock::now() + kPatience));
    lock.lock();
  }
  lock.unlock();
  post_last();
}

void TrainJobReporter::post_last() {
  // stop() has been called: nobody changes the status any more.
  if (!exit_status_) return;
  const auto text = status_.last_text(*exit_status_ == 0, std::time(nullptr));
  if (!text) return;
  if (pace_.has_failed()) {
    post(*text, std::min(last_deadline_, Clock::now() + kShortPatience));
    return;
  }
  if (post(*text, last_deadline_) || Clock::now() + kLastPause >= last_deadline_) return;
  std::this_thread::sleep_for(kLastPause);
  post(*text, last_deadline_);
}

bool TrainJobReporter::post(const std::string& text, Clock::time_point deadline) {
  std::string problem;
  try {  // the root of a task
    post_status(*server_, text, deadline);
    if (std::exchange(must_tell_recovery_, false)) {
      log_notice(fmt::format("{} port {}: the TrainJob's status is posted again", server_->host,
                             server_->port));
    }
    return true;
  } catch (const Error& error) {
    problem = error.reason();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  // Once: a server that is away would be a line every few seconds.
  if (std::exchange(has_spoken_, true)) return false;
  must_tell_recovery_ = true;
  log_notice(
      fmt::format("{} port {}: cannot post the TrainJob's status: {}; the job does not "
                  "depend on it",
                  server_->host, server_->port, problem));
  return false;
}

}  // namespace dtl
