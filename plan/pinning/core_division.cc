// Divides the physical cores of a node among its ranks by default. Sizes differ by at most one
// core; within that, domains avoid straddling NUMA nodes. hwloc lists cores that share caches next
// to each other, so a run of the list is a good domain.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>

#include "plan/pinning/pinning.h"

namespace dtl {
namespace {

using CoreList = std::vector<std::size_t>;  // indices into NodeTopology::cores, ascending

CpuSet allowed_cpus(const NodeTopology& topology, std::size_t core) {
  return CpuSet(topology.cores[core].cpus) & topology.allowed;
}

CoreList usable_cores(const NodeTopology& topology) {
  CoreList usable;
  for (std::size_t i = 0; i < topology.cores.size(); ++i) {
    if (!allowed_cpus(topology, i).empty()) usable.push_back(i);
  }
  return usable;
}

// The usable cores of each NUMA node, in order of first appearance.
std::vector<CoreList> by_numa(const NodeTopology& topology, const CoreList& usable) {
  std::vector<CoreList> groups;
  std::map<int, std::size_t> group_of;
  for (const std::size_t core : usable) {
    const auto [found, is_new] = group_of.try_emplace(topology.cores[core].numa, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(core);
  }
  return groups;
}

// Domains of `size` or size+1 cores that together use every core. None spans two NUMA nodes. A node
// of c cores holds n domains if n*size <= c <= n*(size+1), so n may be any number between
// ceil(c/(size+1)) and floor(c/size); the counts must add up to the number of ranks. Empty if they
// cannot. size: 1 or more, since divide() is not called with more ranks than cores.
std::vector<CoreList> divide_within_numa(const std::vector<CoreList>& groups, std::size_t ranks,
                                         std::size_t size) {
  std::vector<std::size_t> counts;
  std::size_t fewest = 0, most = 0;
  for (const CoreList& group : groups) {
    const std::size_t low = (group.size() + size) / (size + 1);
    const std::size_t high = group.size() / size;
    if (low > high) return {};
    counts.push_back(low);
    fewest += low;
    most += high;
  }
  if (ranks < fewest || ranks > most) return {};
  // Each node begins with its smallest number of domains; the rest go to the first nodes with room.
  std::size_t left = ranks - fewest;
  std::vector<CoreList> domains;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t more = std::min(left, groups[i].size() / size - counts[i]);
    left -= more;
    const std::size_t count = counts[i] + more;
    const std::size_t larger = groups[i].size() - count * size;
    auto next = groups[i].begin();
    for (std::size_t k = 0; k < count; ++k) {
      const auto end = next + static_cast<std::ptrdiff_t>(size + (k < larger ? 1 : 0));
      domains.emplace_back(next, end);
      next = end;
    }
  }
  return domains;
}

// If the sizes do not fit the NUMA nodes: as many whole domains per node as fit, larger ones first;
// the remaining cores form the domains that must straddle.
std::vector<CoreList> divide_with_straddling(const std::vector<CoreList>& groups, std::size_t ranks,
                                             std::size_t size, std::size_t larger) {
  std::vector<CoreList> domains;
  CoreList leftover;
  std::size_t smaller = ranks - larger;
  for (const CoreList& group : groups) {
    auto next = group.begin();
    for (;;) {
      const auto room = static_cast<std::size_t>(group.end() - next);
      std::size_t take = 0;
      if (larger > 0 && room >= size + 1) {
        take = size + 1;
        --larger;
      } else if (smaller > 0 && room >= size) {
        take = size;
        --smaller;
      }
      if (take == 0) break;
      domains.emplace_back(next, next + static_cast<std::ptrdiff_t>(take));
      next += static_cast<std::ptrdiff_t>(take);
    }
    leftover.insert(leftover.end(), next, group.end());
  }
  // Back in hwloc's order, so that a domain that must straddle takes neighbours.
  std::sort(leftover.begin(), leftover.end());
  auto next = leftover.begin();
  for (std::size_t k = 0; k < larger + smaller; ++k) {
    const auto end = next + static_cast<std::ptrdiff_t>(size + (k < larger ? 1 : 0));
    domains.emplace_back(next, end);
    next = end;
  }
  return domains;
}

std::vector<CoreList> divide(const NodeTopology& topology, const CoreList& usable,
                             std::size_t ranks) {
  std::vector<CoreList> domains;
  const std::size_t size = usable.size() / ranks, larger = usable.size() % ranks;
  const std::vector<CoreList> groups = by_numa(topology, usable);
  domains = divide_within_numa(groups, ranks, size);
  if (domains.empty()) domains = divide_with_straddling(groups, ranks, size, larger);
  // Larger domains first, in the order of their cores. So rank 0 gets a larger one.
  std::stable_sort(domains.begin(), domains.end(), [](const CoreList& a, const CoreList& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  return domains;
}

// Only cores of the fastest kind.
CoreList fastest(const NodeTopology& topology, const CoreList& cores) {
  CoreList fast;
  for (const std::size_t core : cores) {
    if (topology.cores[core].kind == 0) fast.push_back(core);
  }
  return fast;
}

// The core's n-th allowed CPU; wraps around after the last one.
int cpu_of(const NodeTopology& topology, std::size_t core, std::size_t n) {
  const std::vector<int> cpus = allowed_cpus(topology, core).to_vector();
  return cpus[n % cpus.size()];
}

// More ranks than cores: one CPU per rank, first one on every core, then the cores' other CPUs. The
// rank keeps Domain's default of one thread.
Domain shared_core(const NodeTopology& topology, const CoreList& usable, std::size_t rank) {
  Domain domain;
  const std::size_t core = usable[rank % usable.size()];
  domain.cpus.add(cpu_of(topology, core, rank / usable.size()));
  domain.numa = {topology.cores[core].numa};
  domain.cores = 1;
  return domain;
}

// The first `comm_cores` cores for communication, the others for the rank. share: the rank's part
// of the budget. The rank gets one CPU of each core, so that no two of its threads share one;
// communication gets all CPUs of its cores.
Domain own_cores(const NodeTopology& topology, const CoreList& cores, int share, int comm_cores) {
  Domain domain;
  std::set<int> numa;
  const auto kept = static_cast<std::size_t>(comm_cores);
  assert(kept < cores.size());
  for (std::size_t i = kept; i < cores.size(); ++i) {
    domain.cpus.add(cpu_of(topology, cores[i], 0));
    numa.insert(topology.cores[cores[i]].numa);
  }
  std::size_t threads = 0;  // the largest number of CPUs in any kept core
  for (std::size_t i = 0; i < kept; ++i) {
    threads = std::max(threads, allowed_cpus(topology, cores[i]).to_vector().size());
  }
  // The first CPUs of all kept cores precede their second ones.
  for (std::size_t thread = 0; thread < threads; ++thread) {
    for (std::size_t i = 0; i < kept; ++i) {
      const std::vector<int> cpus = allowed_cpus(topology, cores[i]).to_vector();
      if (thread < cpus.size()) domain.comm.push_back(cpus[thread]);
    }
  }
  domain.numa.assign(numa.begin(), numa.end());
  domain.cores = static_cast<int>(cores.size()) - comm_cores;
  domain.threads = std::max(1, std::min(share, static_cast<int>(cores.size())) - comm_cores);
  return domain;
}

}  // namespace

int budget_cores(const NodeTopology& topology) {
  int cores = static_cast<int>(usable_cores(topology).size());
  if (cores == 0) cores = topology.allowed.count();  // a node that does not know its cores
  if (topology.quota_cpus > 0) {
    // 1e6 keeps the conversion to int defined for any quota that a node reports.
    cores = std::min(cores, static_cast<int>(std::ceil(std::min(topology.quota_cpus, 1e6))));
  }
  return std::max(cores, 1);
}

// With a quota, domains still divide all usable cores, so that several containers on one machine do
// not all use its first cores; only the number of threads is limited.
std::vector<Domain> divide_cores(const NodeTopology& topology, int local_size, int comm_cores) {
  assert(local_size >= 1);
  const auto ranks = static_cast<std::size_t>(local_size);
  CoreList usable = usable_cores(topology);
  // A rank on slow cores would delay all others in every step.
  if (const CoreList fast = fastest(topology, usable); fast.size() >= ranks) usable = fast;
  std::vector<Domain> domains(ranks);
  const bool crowded = ranks > usable.size();
  std::vector<CoreList> lists(ranks);
  if (!crowded) lists = divide(topology, usable, ranks);
  const int budget = budget_cores(topology);
  for (int k = 0; k < local_size; ++k) {
    const auto index = static_cast<std::size_t>(k);
    // Threads by the quota: a container may have more CPUs than it may use at once.
    const int share = std::max(1, budget / local_size + (k < budget % local_size ? 1 : 0));
    // The node does not know its cores: nothing to divide, so the kernel's scheduler decides.
    if (usable.empty()) {
      domains[index].cpus = topology.allowed;
      domains[index].threads = share;
    } else if (crowded) {
      domains[index] = shared_core(topology, usable, index);
    } else {
      domains[index] = own_cores(topology, lists[index], share, comm_cores);
    }
  }
  return domains;
}

}  // namespace dtl
