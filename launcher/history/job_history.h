#pragma once
// JobHistory: records one job in the history, at its start and at its end. The first record is
// written on a thread while agents start, so no job waits for a disk. Nothing here fails a job: a
// problem is one line at its end. Belongs to the session's thread, as JobWatch.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/machine/job_record.h"
#include "launcher/history/history_record.h"
#include "launcher/history/history_store.h"
#include "launcher/report/job_series.h"
#include "launcher/session/epochs.h"
#include "plan/request/job_parts.h"

namespace dtl {

// What the record has from the job's start on.
struct JobPlaces {
  std::string log_directory;  // as in HistoryRecord
  std::string kept_folder;
};
HistoryRecord record_at_start(const JobRecord& job, const Reporting& reporting,
                              const JobPlaces& places);
// Adds how the job ended, with masked texts. status: dtlaunch's.
void add_end(HistoryRecord& record, const JobResult& result, int status, const JobSeries& series);

class JobHistory {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts the thread, unless limits.days is 0. The caller must not fork afterwards and go on in
  // the child.
  JobHistory(HistoryRecord record, const HistoryLimits& limits);
  ~JobHistory();  // stops the thread; then may remove some old jobs
  JobHistory(const JobHistory&) = delete;
  JobHistory& operator=(const JobHistory&) = delete;

  void placed(std::size_t ranks);
  void ended(const JobResult& result, int status, const JobSeries& series = {});
  // The job ended with this error instead of a result.
  void ended(const Error& error);

 private:
  void run();    // the thread
  bool sleep();  // false: the job has ended meanwhile
  void stop();
  void save_end();
  // Runs `work` on the open store. False after an Error, which becomes the problem.
  template <class Work>
  bool with_store(const Work& work);

  const HistoryLimits limits_;
  HistoryRecord record_;               // the thread reads it until stop()
  std::optional<HistoryStore> store_;  // of the thread until stop()
  std::string problem_, notice_;
  bool tidied_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  int ranks_ = 0;  // known to the session
  Clock::time_point began_;
  std::thread thread_;
};

}  // namespace dtl
