#pragma once
// SlowHosts: finds a host that keeps the others waiting step after step, from how often each rank
// was seen inside a collective (RankStates). All ranks make the same steps, and the last one to
// arrive in a collective spends the least time in it. So if the ranks of one host are seen in
// collectives much less often than others, that host takes longer to compute. Reported once for
// each host, after two such windows in a row. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

struct SlowHost {
  int node = 0;
  std::string text;  // "its ranks compute 1.8 times as long per step as those of other hosts: ..."
};

class SlowHosts {
 public:
  void report(const RankReport& report, int node);
  // The rank has ended: its communicators are not complete any more, and are not judged.
  void forget(int rank);
  // The host to report now. Call it after reports.
  std::optional<SlowHost> look();

 private:
  struct Member {
    int rank = -1, node = 0;                                  // of the job; -1: not known yet
    std::uint64_t looks = 0, waits = 0, first = 0, last = 0;  // since the window began
    bool begun = false;
  };
  struct Comm {
    std::uint32_t world = 0;
    std::map<std::uint32_t, Member> members;  // by rank in the communicator
    int suspect = -1;                         // the slow node of the last window
  };
  static std::optional<SlowHost> judge(Comm& comm);

  std::map<std::uint64_t, Comm> comms_;
  // The communicators of each rank of the job, and its rank in them.
  std::map<int, std::vector<std::pair<std::uint64_t, std::uint32_t>>> places_;
  // Each of them once: the line would otherwise come every minute.
  std::map<int, bool> named_;  // nodes
};

}  // namespace dtl
