#pragma once
// RankWatch: who keeps the others waiting, from what agents report about their ranks from time to
// time (RankStates). It says so once, after a while, and knows when a job hangs for good. Pure: the
// time comes from outside.
//
// A rank is odd if it has not entered the collective in which others wait, or if it is stopped
// while a collective does not move. Unknown facts do not count against any rank. Ranks without
// libdtring report only whether they compute, sleep or are stopped. Time in which an agent reported
// nothing does not count as waiting.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

// The collective with this number in a page of base/pages/state_page.h: "allreduce"; "collective"
// for an unknown one.
std::string collective_name(std::uint32_t opcode);

// "rank 3", "ranks 0-2,7"
std::string ranks_text(const std::vector<int>& ranks);

// What is known about a wait while it lasts.
struct HangFinding {
  std::vector<int> odd;      // who keeps the others waiting; empty: unknown
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
  // Call it once per report or heartbeat, before untold() and hang().
  void look(JobTime now);

  // Waits that have lasted for `after` and have not been told, and told ones that are over.
  std::vector<HangFinding> untold(JobTime after);
  // The first wait that has lasted for `after`. running: how many ranks have not ended. Ranks that
  // swap make progress, if slowly, so that they do not count as hanging.
  std::optional<HangFinding> hang(JobTime after, std::size_t running) const;

 private:
  using Key = std::pair<std::uint64_t, int>;  // id, and which of those of that id
  // What its last report said.
  struct Rank {
    std::uint32_t pid = 0;
    Activity activity = Activity::kSleeps;
    JobTime since{0};  // since when it has done so
    JobTime heard{0};
    std::vector<std::pair<Key, std::uint32_t>> places;  // its communicators, and its rank in each
  };
  struct Member {
    int rank = 0;  // of the job
    CommState state;
  };
  // The wait in a communicator that goes on now, if there is one.
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
  void leave(const std::pair<Key, std::uint32_t>& place, int rank);
  JobTime all_heard(const std::vector<int>& ranks, JobTime now) const;
  void look_at(Comm& comm, JobTime now);
  void describe(Wait& wait, bool moves_nothing) const;
  // What odd ranks do, in words; empty: unknown.
  std::string doing(const std::vector<int>& odd, bool by_name) const;
  bool all_swap(const std::vector<int>& odd) const;

  std::map<int, Rank> ranks_;
  std::map<Key, Comm> comms_;
  std::vector<HangFinding> over_;  // told, and over since
};

}  // namespace dtl
