#pragma once
// SlowLinks: finds a link between two hosts that is much slower than the others, from the kernel's
// counters for the ranks' TCP connections (RankStates). In a collective every rank moves as many
// bytes as the slowest link lets through, so bytes alone do not tell. The time in which a sender's
// bytes were in transit does: it is short unless the network is the reason. Reported once for each
// host, after two such windows in a row. Pure.

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
  int node = 0;      // to report: the host that all slow links share, or the sender
  std::string text;  // "slow network: 11.9 MB/s to 10.0.0.3, between other hosts 1.1 GB/s ..."
};

class SlowLinks {
 public:
  // Call it before any report. Without it look() finds nothing.
  void begin(JobTime window, JobTime now);
  void report(int from, int to, const WireState& wire);
  void excuse(JobTime now);  // nothing could move until now: a new window begins
  // The host to report now. Judges at most once per window.
  std::optional<SlowLink> look(JobTime now);

 private:
  // Sums of all connections from one host to another in this window.
  struct Wire {
    std::uint64_t bytes = 0, busy_us = 0;
    std::string peer;
  };
  std::optional<SlowLink> judge(JobTime lasted) const;

  JobTime window_{0}, began_{0};
  std::map<std::pair<int, int>, Wire> wires_;  // by sender and receiver
  // Of the last window; -1: none.
  int suspect_ = -1;
  std::map<int, bool> named_;
};

}  // namespace dtl
