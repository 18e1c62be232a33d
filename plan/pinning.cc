#include "plan/pinning.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

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

// Domains of `size` or size+1 cores that use up every NUMA node without straddling. A node of c
// cores holds n domains when n*size <= c <= n*(size+1), so any n between ceil(c/(size+1)) and
// floor(c/size) will do; the counts must add up to the number of ranks. Empty when they cannot.
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

// Where the sizes do not fit the NUMA nodes: as many whole domains per node as fit, larger ones
// first; what is left over makes the domains that must straddle.
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
  if (ranks > usable.size()) {
    for (std::size_t k = 0; k < ranks; ++k) domains.push_back({usable[k % usable.size()]});
    return domains;
  }
  const std::size_t size = usable.size() / ranks, larger = usable.size() % ranks;
  const std::vector<CoreList> groups = by_numa(topology, usable);
  domains = divide_within_numa(groups, ranks, size);
  if (domains.empty()) domains = divide_with_straddling(groups, ranks, size, larger);
  std::stable_sort(domains.begin(), domains.end(), [](const CoreList& a, const CoreList& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  return domains;
}

}  // namespace

int budget_cores(const NodeTopology& topology) {
  int cores = static_cast<int>(usable_cores(topology).size());
  if (cores == 0) cores = topology.allowed.count();  // a node that cannot name its cores
  if (topology.quota_cpus > 0) {
    cores = std::min(cores, static_cast<int>(std::ceil(std::min(topology.quota_cpus, 1e6))));
  }
  return std::max(cores, 1);
}

// With a quota, domains still divide all usable cores, so that containers side by side on one
// machine do not crowd onto its first cores; only the number of threads is limited.
std::vector<Domain> divide_cores(const NodeTopology& topology, int local_size) {
  assert(local_size >= 1);
  const CoreList usable = usable_cores(topology);
  const int budget = budget_cores(topology);
  std::vector<Domain> domains(static_cast<std::size_t>(local_size));
  std::vector<CoreList> lists(domains.size());
  if (!usable.empty()) lists = divide(topology, usable, domains.size());
  for (int k = 0; k < local_size; ++k) {
    Domain& domain = domains[static_cast<std::size_t>(k)];
    const CoreList& cores = lists[static_cast<std::size_t>(k)];
    for (const std::size_t core : cores) domain.cpus = domain.cpus | allowed_cpus(topology, core);
    const int share = std::max(1, budget / local_size + (k < budget % local_size ? 1 : 0));
    if (cores.empty()) domain.cpus = topology.allowed;
    domain.threads = cores.empty() ? share : std::min(share, static_cast<int>(cores.size()));
  }
  return domains;
}

}  // namespace dtl
