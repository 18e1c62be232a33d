#pragma once
// SeriesWatch: fills a job's JobSeries from what the session hears anyway. It sends nothing and has
// no thread. Belongs to the session's thread; the session must not outlive it.

#include <chrono>
#include <cstddef>

#include "launcher/report/job_series.h"
#include "launcher/session/session.h"

namespace dtl {

// What a report says about the resources of its rank.
RankSample sample_of(const RankReport& report);

class SeriesWatch {
 public:
  // The hooks, which also tell this object.
  SessionHooks watching(SessionHooks hooks);
  const JobSeries& series() const { return series_; }

 private:
  using Clock = std::chrono::steady_clock;
  double now() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  const Clock::time_point began_ = Clock::now();
  std::size_t ranks_ = 0;  // of the epoch that is being planned
  JobSeries series_;
};

}  // namespace dtl
