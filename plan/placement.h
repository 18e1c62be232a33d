#pragma once
// Which rank goes to which host, and its number there. Placement counts slots and cores; which CPUs
// a rank gets on its host is decided later, by pinning. Pure.

#include <string_view>
#include <vector>

#include "plan/pinning/topology.h"
#include "plan/request/request.h"

namespace dtl {

struct RankPlace {
  int rank = 0;
  int host = 0;        // index into the hosts given: of a node's several names, the first
  int local_rank = 0;  // 0..local_size-1 on that node
  int local_size = 0;
  int node = 0;  // as ranks count them: machines in order of their first rank
};

// Which of the request's programs each of `ranks` ranks runs, as an index: the first program's
// ranks come first.
std::vector<int> programs_of_ranks(const Request& request, std::size_t ranks);

// Ranks in order of the hosts, each host filled before the next, or dealt out in groups of
// request.placement.deal as long as there is room, or as request.placement.rank_map says. How many
// each host takes: with -ppn N, N per host (it overrides slots, as mpirun does); otherwise slots,
// and where a host names none, cores[host]. `cores` has the physical cores of each host's budget.
// `nodes` says which hosts are one node (same_machine.h; empty: none are): what their names offer
// adds up, cores once, and the first name has all; tasks keep to themselves. by_quota: a CPU quota
// gives fewer cores than the machine has, which the error says. Only hosts that get a
// rank appear. Throws Error(kUsage) naming the shortfall when -np exceeds what the hosts offer and
// oversubscribe is not set; with it, the surplus is dealt round-robin over the hosts.
std::vector<RankPlace> place_ranks(const Request& request, const std::vector<int>& cores,
                                   const std::vector<int>& nodes = {}, bool by_quota = false);

// The same on hosts that have said what they are; facts[i] belongs to request.hosts[i]. A restart
// also calls it as a trial, to see whether the ranks fit the hosts that are left.
std::vector<RankPlace> place_ranks_on(const Request& request, const std::vector<NodeFacts>& facts);

// The value of -rankmap: "0,0,1", the host of each rank counted from 0, or blocks "(0,4,2)": from
// host 0 on, 4 hosts, 2 ranks on each; PMI's "(vector,(0,4,2))" is the same. Error(kUsage).
std::vector<int> parse_rank_map(std::string_view text);

}  // namespace dtl
