#pragma once
// Restart: whether a job that failed is started again (--max-restarts), and when. An epoch is the
// time from one start of all ranks to the end of all of them. A restart makes sense where a machine
// may be at fault; a program that would fail again in the same way ends the job instead. Pure:
// epochs.cc of the session's room acts on it.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "launcher/job/job_outcome.h"

namespace dtl {

// How an epoch came to its end.
struct EpochEnd {
  Outcome outcome;
  std::optional<JobTime> ran;  // all ranks, until the first failure; absent: never all of them
  std::vector<std::string> last_words;  // of the rank that failed, oldest first
  bool consequence = false;             // those are about a lost connection to another rank
  bool out_of_memory = false;           // the kernel killed on its node for want of memory
};

// Times count from the end of the last epoch.
struct RestartVerdict {
  bool again = false;
  JobTime wait{0};  // from the end of the last epoch, at least
  std::string why;  // not again; empty: there is nothing to try again, or --max-restarts is 0
};

// `ends` has at least one, in order; `most` is --max-restarts.
RestartVerdict judge_restart(int most, const std::vector<EpochEnd>& ends);

// Which of them decides what dtlaunch returns: the last one, or, where the last ones failed at
// once, the one before them, whose consequence they may be.
std::size_t deciding_epoch(const std::vector<EpochEnd>& ends);

}  // namespace dtl
