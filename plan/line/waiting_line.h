#pragma once
// The waiting line of a node. A job that waits for cores holds a ticket on each of its hosts. All
// nodes have the tickets in the same order, so the first job of all waits only for jobs that run,
// and jobs that want the same hosts never wait for each other. Pure.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/pinning/topology.h"

namespace dtl {

struct Ticket {
  std::string job_id;            // as that job says; anybody may say anything
  std::uint32_t user_id = 0;     // as the kernel says
  std::string user;              // the name of user_id on the node; empty: it has none
  std::uint64_t arrival_ms = 0;  // since 1970, by the clock of the job's first host
  std::uint64_t age_s = 0;       // how long ago that was
  int cores = 0;                 // that it wants here, whichever
  CpuSet cpus = {};              // these instead; empty: any
  std::uint64_t runs_s = 0;      // it runs for this long at most; 0: without limit
  CpuSet usable = {};            // CPUs that its agent may use; empty: unknown
  std::uint64_t blocked_s = 0;   // other nodes let its job start only after that, as it says
};

// The order of the line: by arrival, then by job.
bool goes_before(const Ticket& a, const Ticket& b);

// Free cores of the node that are kept for the tickets before `own`, as claims (CoreClaim::waits);
// for all of them if own is nullptr. `claims`: what other jobs have; shared ones keep nothing. A
// ticket whose job has a claim there counts no more. One that wants more cores than there are waits
// for all of them. Keeps cores that nobody behind the ticket wants in particular, and of these the
// first ones, since its job will take them.
//
// If `own` runs for a limited time, it may overtake: nothing is kept for a ticket that cannot start
// before `own` ends, because of jobs that run or because of tickets before it. The jobs that have a
// claim leave when their time is over, or, without a limit (CoreClaim::left_s), at any moment.
// Nothing is kept either for a ticket whose job other nodes block for longer than `own` runs. So
// the result also changes as time passes: ask again about once a second.
std::vector<CoreClaim> keep_for_waiting(const NodeTopology& topology,
                                        const std::vector<CoreClaim>& claims,
                                        const std::vector<Ticket>& tickets, const Ticket* own);

// How soon the job of `own` could start on this node, in seconds, if no other node blocked it, and
// if those before it started as soon as they can. Never later than it really can: others may
// overtake a job that several nodes serve if they end before the latest of these times.
std::uint64_t earliest_start_here(const NodeTopology& topology,
                                  const std::vector<CoreClaim>& claims,
                                  const std::vector<Ticket>& tickets, const Ticket& own);

// Until when the other nodes block a job that needs all of them, for each node; 0: they do not.
// starts: earliest_start_here() of each, and the result, by the same clock. A difference of a few
// seconds does not count: it may be one of the clocks.
std::vector<std::chrono::milliseconds> blocked_until(
    const std::vector<std::chrono::milliseconds>& starts);

}  // namespace dtl
