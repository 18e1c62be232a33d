#pragma once
// What a job that waits for cores asks each of its hosts for, as if nobody else had any. Pure.

#include <vector>

#include "plan/pinning/topology.h"
#include "plan/request/request.h"

namespace dtl {

struct TicketWish {
  int cores = 0;  // the fewest with which its ranks there can start, at least 1
  CpuSet cpus;    // these, as the user has named them; empty: any
};

// One for each of `facts`, which belong to the hosts of the request. A host that has no ranks while
// all are free may get some because it is free first, so it is asked for as many as the others.
// Throws Error if the job could not start anyway.
std::vector<TicketWish> wanted_cores(const Request& request, const std::vector<NodeFacts>& facts);

// Whether the job could start without any of the hosts, if nobody else had cores. Of very many, it
// tries those that are missed least.
bool needs_every_host(const Request& request, const std::vector<NodeFacts>& facts);

}  // namespace dtl
