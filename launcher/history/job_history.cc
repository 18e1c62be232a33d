// Order of events: insert at once; after a second of the job, its number of ranks and the removal
// of old jobs; then the file is closed, so that a long job keeps nothing open; at the end, the
// whole record again, which also helps if the first one could not be written.
#include "launcher/history/job_history.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "launcher/job/job_outcome.h"
#include "launcher/report/report.h"
#include "launcher/session/card_facts.h"
#include "plan/job_plan.h"

namespace dtl {
namespace {

// For other launchers; each writes for less than a millisecond.
constexpr auto kPatience = std::chrono::milliseconds(1000);
// Shorter jobs do not do the work of others.
constexpr auto kLeisure = std::chrono::seconds(1);
constexpr int kTextColumns = 100;  // of stored tables and cards

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string absolute_path(const std::string& path) {
  if (path.empty()) return {};
  std::error_code failed;
  const auto whole = std::filesystem::absolute(path, failed);
  return printable(failed ? path : whole.string());
}

}  // namespace

HistoryRecord record_at_start(const JobRecord& job, const Reporting& reporting,
                              const JobPlaces& places) {
  HistoryRecord record;
  record.job_id = job.job_id;
  record.process = identify(::getpid());
  record.began_ms = now_ms();
  for (const std::string& host : split(job.hosts, ',')) record.hosts.push_back(printable(host));
  record.command = printable(job.command);
  std::error_code failed;
  record.folder = printable(std::filesystem::current_path(failed).string());
  record.tags = reporting.tags;
  record.detached = !places.kept_folder.empty();
  record.log_directory = printable(places.log_directory);
  record.kept_folder = printable(places.kept_folder);
  // A report for a device or a pipe is not there later.
  if (!reporting.report.starts_with("/dev/")) record.report_file = absolute_path(reporting.report);
  const char* outer = std::getenv("DTLAUNCH_JOB");
  if (outer != nullptr && is_job_id_prefix(outer)) record.outer_job = outer;
  return record;
}

void add_end(HistoryRecord& record, const JobResult& result, int status, const JobSeries& series) {
  const SessionResult& last = result.last;
  record.exit_status = status;
  record.cause = cause_name(last.job.outcome->cause);
  if (result.epochs.size() > 1) {  // those of the last epoch
    record.hosts.clear();
    for (const Host& host : last.hosts) record.hosts.push_back(printable(host.name));
  }
  record.card = printable_lines(failure_card(*last.job.outcome, card_facts(last), kTextColumns));
  if (last.plan) {
    record.ranks = last.plan->world_size;
    record.plan = printable_lines(to_table(*last.plan, kTextColumns));
  }
  record.report = report_json(result, series);
}

JobHistory::JobHistory(HistoryRecord record, const HistoryLimits& limits)
    : limits_(limits), record_(std::move(record)), began_(Clock::now()) {
  if (limits_.days == 0) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return;  // the end is recorded without it
  }
}

JobHistory::~JobHistory() {
  stop();
  if (limits_.days == 0) return;
  // Where all jobs are short, each removes a few.
  if (store_ && !tidied_) {
    with_store([this](HistoryStore& store) {
      store.prune(limits_, now_ms(), [] { return true; });
      if (store.is_untidy()) store.tidy();
    });
  }
  if (!notice_.empty()) log_notice(notice_);
  if (!problem_.empty()) log_notice(problem_);
}

template <class Work>
bool JobHistory::with_store(const Work& work) {
  try {
    if (!store_) store_.emplace(HistoryStore::for_writing(history_path(), kPatience));
    work(*store_);
    if (!store_->notice().empty()) notice_ = store_->notice();
    problem_.clear();
    return true;
  } catch (const std::exception& error) {
    store_.reset();
    problem_ = error.what();
    return false;
  }
}

void JobHistory::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by the job's thread
  const bool written = with_store([this](HistoryStore& store) { store.save(record_, false); });
  if (!sleep() || !written) return;
  tidied_ = with_store([this](HistoryStore& store) {
    int ranks = 0;
    {
      const std::lock_guard lock(mutex_);
      ranks = ranks_;
    }
    if (ranks > 0) store.set_ranks(record_.job_id, ranks);
    const auto is_over = [this] {
      const std::lock_guard lock(mutex_);
      return stopped_;
    };
    store.prune(limits_, now_ms(), is_over);
    if (!is_over()) store.tidy();
  });
  store_.reset();
}

bool JobHistory::sleep() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, kLeisure, [this] { return stopped_; });
}

void JobHistory::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void JobHistory::placed(std::size_t ranks) {
  const std::lock_guard lock(mutex_);
  ranks_ = static_cast<int>(ranks);
}

void JobHistory::ended(const JobResult& result, int status, const JobSeries& series) {
  if (limits_.days == 0) return;
  stop();
  add_end(record_, result, status, series);
  save_end();
}

void JobHistory::ended(const Error& error) {
  if (limits_.days == 0) return;
  stop();
  record_.exit_status = static_cast<int>(error.status());
  record_.cause = cause_name(Cause::kCannotStart);
  record_.card = printable_lines(error.what());
  save_end();
}

void JobHistory::save_end() {
  record_.took_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_).count();
  with_store([this](HistoryStore& store) { store.save(record_, true); });
}

}  // namespace dtl
