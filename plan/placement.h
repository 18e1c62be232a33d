#pragma once
// Assigns ranks to hosts and numbers them. Placement counts slots and cores; pinning later chooses
// a rank's CPUs on its host. Pure.

#include <optional>
#include <string_view>
#include <vector>

#include "plan/pinning/topology.h"
#include "plan/request/request.h"

namespace dtl {

struct RankPlace {
  int rank = 0;
  int host = 0;        // index into the given hosts: the first of a node's names
  int local_rank = 0;  // 0..local_size-1 on that node
  int local_size = 0;
  int node = 0;  // the ranks' numbering: machines in order of their first rank
};

// The program of each of `ranks` ranks, as an index into the request's programs: the first
// program's ranks come first.
std::vector<int> programs_of_ranks(const Request& request, std::size_t ranks);

// Ranks in order of the hosts: fills each host before the next, or deals out groups of
// request.placement.deal while there is room, or follows request.placement.rank_map. A host takes N
// ranks with -ppn N (it overrides slots, as in mpirun); otherwise its slots, or cores[host] if it
// has none. `cores`: the physical cores of each host's budget. `nodes`: which hosts are one node
// (same_machine.h; empty: none): their slots add up, cores count once, and all ranks go to the
// first name; tasks stay separate. by_quota: a CPU quota limits the cores, which the error then
// mentions. free: how many cores other jobs leave of a host; empty, or absent for a host: all. Only
// hosts with ranks appear. Throws Error(kUsage) naming the shortfall if -np exceeds
// the hosts' offer without oversubscribe; with it, the surplus is dealt round-robin over the hosts.
std::vector<RankPlace> place_ranks(const Request& request, const std::vector<int>& cores,
                                   const std::vector<int>& nodes = {}, bool by_quota = false,
                                   std::vector<std::optional<int>> free = {});

// The same from the hosts' facts; facts[i] belongs to request.hosts[i]. A restart also calls it as
// a trial, to find out whether the ranks fit on the remaining hosts.
std::vector<RankPlace> place_ranks_on(const Request& request, const std::vector<NodeFacts>& facts);

// The value of -rankmap: "0,0,1", the host of each rank counted from 0, or blocks "(0,4,2)": from
// host 0, 4 hosts, 2 ranks on each; PMI's "(vector,(0,4,2))" is the same. Error(kUsage).
std::vector<int> parse_rank_map(std::string_view text);

}  // namespace dtl
