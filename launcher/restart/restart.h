#pragma once
// Restart: whether and when a failed job starts again (--max-restarts). An epoch lasts from one
// start of all ranks until all have ended. A restart makes sense if a machine may be at fault; a
// program that would fail again in the same way ends the job. Pure: launcher/session/epochs.cc acts
// on it.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "launcher/job/job_outcome.h"

namespace dtl {

// How an epoch ended.
struct EpochEnd {
  Outcome outcome;
  std::optional<JobTime> ran;  // from all ranks' start to the first failure; absent: never all
  std::vector<std::string> last_words;  // of the rank that failed, oldest first
  bool consequence = false;             // last_words concern a lost connection to another rank
  bool out_of_memory = false;           // the kernel killed a process there for want of memory
};

// Times count from the end of the last epoch.
struct RestartVerdict {
  bool again = false;
  JobTime wait{0};  // minimum, from the end of the last epoch
  std::string why;  // why not; empty: nothing to retry, or --max-restarts is 0
};

// `ends` has at least one, in order; `most` is --max-restarts.
RestartVerdict judge_restart(int most, const std::vector<EpochEnd>& ends);

// The epoch that decides dtlaunch's exit status: the last one, or, if the last ones failed at once,
// the one before them, which may have caused their failures.
std::size_t deciding_epoch(const std::vector<EpochEnd>& ends);

}  // namespace dtl
