#pragma once
// RankWatch: who keeps the others waiting, from what agents report of their ranks from time to time
// (RankStates). Says it once, after a while, and knows when a job hangs for good. Pure: the time
// comes from outside.
//
// A rank is odd that has not entered the collective in which others wait, or that is stopped while
// a collective does not move. What is not known is not held against anybody: ranks without
// libdtring tell only whether they compute, sleep or are stopped, and time in which an agent told
// nothing is no waiting.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

// "rank 3", "ranks 0-2,7"
std::string ranks_text(const std::vector<int>& ranks);

// What is known of a hang while it lasts.
struct HangFinding {
  std::vector<int> odd;      // who keeps the others waiting; empty: it cannot be told
  std::vector<int> waiting;  // for them
  std::string collective;    // in which; empty: none is known
  JobTime lasted{0};
  std::string text;  // "rank 3 has not entered the allreduce in which ..."
};

class RankWatch {
 public:
  void report(const RankReport& report, JobTime now);
  void forget(int rank);     // it has ended
  void excuse(JobTime now);  // nobody could run until now: all waits begin anew
  // Once per report or heartbeat, before the two below.
  void look(JobTime now);

  // Those that have lasted for so long and have not been told; and those told that are over.
  std::vector<HangFinding> untold(JobTime after);
  // The first that has lasted for so long. running: how many ranks have not ended. Ranks that swap
  // make progress, if slowly, and are no reason.
  std::optional<HangFinding> hang(JobTime after, std::size_t running) const;

 private:
  struct Rank {
    std::uint32_t pid = 0;
    Activity activity = Activity::kSleeps;
    JobTime since{0};  // it does so
    JobTime heard{0};
  };
  struct Member {
    int rank = 0;  // of the job
    CommState state;
  };
  // The wait of a communicator that goes on, if any does.
  struct Wait {
    HangFinding finding;
    std::uint64_t collective = 0;  // the number of the first one that some have not entered
    JobTime since{0};
    bool told = false;
  };
  struct Comm {
    std::map<std::uint32_t, Member> members;  // by rank in the communicator
    std::uint64_t fingerprint = 0;            // of all that moves when it makes progress
    std::optional<Wait> wait;
  };
  using Key = std::pair<std::uint64_t, int>;  // id, and which of those of that id

  JobTime all_heard(const std::vector<int>& ranks, JobTime now) const;
  void look_at(Comm& comm, JobTime now);
  void describe(Wait& wait, bool moves_nothing) const;
  std::string doing(const std::vector<int>& odd, bool by_name) const;
  bool all_swap(const std::vector<int>& odd) const;

  std::map<int, Rank> ranks_;
  std::map<Key, Comm> comms_;
  std::vector<HangFinding> over_;  // told, and over since
};

}  // namespace dtl
