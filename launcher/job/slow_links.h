#pragma once
// SlowLinks: a link between two hosts over which bytes travel much slower than over the others. It
// uses what kernels count for the ranks' TCP connections (RankStates). In a collective every rank
// moves as many bytes as the slowest link lets through, so that bytes alone do not tell. The time
// in which a sender's bytes were on their way does: it is short where the network is not the
// reason. Said once for each host, when it was so in two windows one after the other. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

struct SlowLink {
  int node = 0;      // named: the one that all slow links have in common, or who sends
  std::string text;  // "slow network: 11.9 MB/s to 10.0.0.3, between other hosts 1.1 GB/s ..."
};

class SlowLinks {
 public:
  // Call it before any report. Without it look() finds nothing.
  void begin(JobTime window, JobTime now);
  void report(int from, int to, const WireState& wire);
  void excuse(JobTime now);  // nothing could move until now: a new window begins
  // The host that is to be named now. Judges at most once per window.
  std::optional<SlowLink> look(JobTime now);

 private:
  // Sums of all connections from one host to another in this window.
  struct Wire {
    std::uint64_t bytes = 0, busy_us = 0;
    std::string peer;
  };
  std::optional<SlowLink> judge(JobTime lasted) const;

  JobTime window_{0}, began_{0};
  std::map<std::pair<int, int>, Wire> wires_;  // by who sends and who receives
  // Of the last window; -1: none.
  int suspect_ = -1;
  std::map<int, bool> named_;
};

}  // namespace dtl
