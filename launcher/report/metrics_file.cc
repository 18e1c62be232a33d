#include "launcher/report/metrics_file.h"

#include <fmt/format.h>

#include <csignal>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/limits.h"
#include "base/log.h"

namespace dtl {

MetricsFile::MetricsFile(std::string path, JobMetrics first)
    : path_(std::move(path)), metrics_(std::move(first)) {
  if (path_.empty()) return;
  write();
  thread_ = std::thread([this] { run(); });
}

MetricsFile::~MetricsFile() {
  stop();
}

template <class Change>
void MetricsFile::change(Change change) {
  if (path_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    change(metrics_);
    is_new_ = true;
  }
  changed_.notify_one();
}

SessionHooks MetricsFile::watching(SessionHooks hooks) {
  if (path_.empty()) return hooks;
  hooks.placed = [this, told = std::move(hooks.placed)](std::size_t ranks) {
    change([&](JobMetrics& metrics) { metrics.ranks = ranks; });
    if (told) told(ranks);
  };
  hooks.claiming = [this, told = std::move(hooks.claiming)](std::size_t cores) {
    change([&](JobMetrics& metrics) { metrics.cores = cores; });
    if (told) told(cores);
  };
  hooks.state = [this, told = std::move(hooks.state)](JobState state) {
    change([&](JobMetrics& metrics) { metrics.state = state_name(state); });
    if (told) told(state);
  };
  hooks.seen = [this, told = std::move(hooks.seen)](const RankReport& report) {
    {
      // The next write shows it: reports are no reason to write.
      const std::lock_guard lock(mutex_);
      metrics_.pace.add(report, std::chrono::duration<double>(Clock::now() - began_).count());
    }
    if (told) told(report);
  };
  hooks.stopped = [this, told = std::move(hooks.stopped),
                   before = std::string()](bool stops) mutable {
    change([&](JobMetrics& metrics) {
      if (stops) before = metrics.state;
      metrics.state = stops ? "stopped" : before;
    });
    // This process stops now, and its threads with it.
    if (stops) write();
    if (told) told(stops);
  };
  return hooks;
}

void MetricsFile::restarting(int restarts) {
  change([&](JobMetrics& metrics) {
    metrics.state = "restarting";
    metrics.restarts = restarts;
    metrics.pace.restart();
  });
}

void MetricsFile::ended(int exit_status) {
  if (path_.empty()) return;
  change([&](JobMetrics& metrics) {
    metrics.state = "ended";
    metrics.exit_status = exit_status;
  });
  stop();
  write();
}

void MetricsFile::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void MetricsFile::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by the job's thread
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kMetricsPeriod, [this] { return is_new_ || stopped_; });
      if (stopped_) return;
      is_new_ = false;
    }
    write();
  }
}

void MetricsFile::write() {
  const std::lock_guard writing(writing_);
  JobMetrics metrics;
  {
    const std::lock_guard lock(mutex_);
    metrics = metrics_;
  }
  metrics.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  metrics.now = std::time(nullptr);
  try {
    write_file_atomically(path_, metrics_text(metrics));
    has_failed_ = false;
  } catch (const Error& error) {
    // Once, until it works again: a full disk would be a line every few seconds.
    if (std::exchange(has_failed_, true)) return;
    log_notice(fmt::format("{}; the job does not depend on it", error.what()));
  }
}

}  // namespace dtl
