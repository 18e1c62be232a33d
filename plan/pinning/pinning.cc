// Adds threads, cores for communication and memory to the domains from either source,
// divide_cores() or pin_domains(). Only the first may leave cores out or keep some back by itself;
// requested pins are never changed.
#include "plan/pinning/pinning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "plan/pinning/pin_domains.h"

namespace dtl {
namespace {

// Derives cores, NUMA nodes and threads from requested CPUs.
Domain describe(const NodeTopology& topology, const CpuSet& cpus, int share) {
  Domain domain;
  domain.cpus = cpus;
  domain.threads = share;
  if (cpus.empty()) return domain;
  std::set<int> numa;
  for (const Core& core : topology.cores) {
    if ((CpuSet(core.cpus) & cpus).empty()) continue;
    ++domain.cores;
    numa.insert(core.numa);
  }
  if (domain.cores == 0) domain.cores = cpus.count();  // a node that does not know its cores
  domain.numa.assign(numa.begin(), numa.end());
  // One thread per core, not per CPU. Under a CPU quota, no more than this rank's share of it.
  domain.threads = domain.cores;
  if (topology.quota_cpus > 0) domain.threads = std::min(domain.threads, share);
  return domain;
}

// Keeps `count` completely unused cores for each rank, near it if possible. Requested pins never
// shrink for that, so there may be too few.
void keep_idle_cores(const NodeTopology& topology, std::vector<Domain>& domains, int count,
                     const std::string& host) {
  CpuSet taken;
  for (const Domain& domain : domains) taken = taken | domain.cpus;
  std::vector<const Core*> idle;
  for (const Core& core : topology.cores) {
    const CpuSet cpus = CpuSet(core.cpus) & topology.allowed;
    if (!cpus.empty() && (cpus & taken).empty()) idle.push_back(&core);
  }
  const std::size_t wanted = domains.size() * static_cast<std::size_t>(count);
  if (idle.size() < wanted) {
    throw Error(Exit::kConfig, fmt::format("{}: --comm-cores {}", host, count),
                fmt::format("the pins that were asked for leave {} of {} cores free", idle.size(),
                            topology.cores.size()),
                "masks that leave cores free, or --comm-cores 0");
  }
  for (Domain& domain : domains) {
    for (int k = 0; k < count; ++k) {
      const auto near = std::find_if(idle.begin(), idle.end(), [&](const Core* core) {
        return std::find(domain.numa.begin(), domain.numa.end(), core->numa) != domain.numa.end();
      });
      const auto at = near == idle.end() ? idle.begin() : near;
      domain.comm.push_back((CpuSet((*at)->cpus) & topology.allowed).first());
      idle.erase(at);
    }
  }
}

// Memory from the domain's own NUMA nodes, unless those are all nodes. Preferred, not bound: a rank
// that needs more memory takes it from other nodes, and is not killed.
void bind_memory(const NodeTopology& topology, const std::optional<MemoryPolicy>& asked,
                 Domain& domain) {
  const std::size_t nodes = topology.numa_nodes.size();
  if (domain.numa.empty() || nodes == 0) return;
  const bool all = domain.numa.size() >= nodes;
  domain.memory = asked.value_or(all ? MemoryPolicy::kDefault : MemoryPolicy::kPreferred);
  if (domain.memory == MemoryPolicy::kDefault) return;
  for (const int numa : domain.numa) {
    const auto index = static_cast<std::size_t>(numa);
    // A core may name a NUMA node that the list lacks: both come from the agent.
    if (index < nodes) domain.memory_nodes.push_back(topology.numa_nodes[index].os_index);
  }
}

int slower_cores(const NodeTopology& topology) {
  return static_cast<int>(
      std::count_if(topology.cores.begin(), topology.cores.end(), [&](const Core& core) {
        return core.kind > 0 && !(CpuSet(core.cpus) & topology.allowed).empty();
      }));
}

// --comm-cores, or one if a rank has enough cores. CCL_WORKER_COUNT is only a wish: if a rank has
// too few cores, none is kept. With --comm-cores that is an error.
int comm_cores_of(const PinSettings& settings, const std::vector<Domain>& domains,
                  const std::string& host) {
  int least = domains.front().threads;  // limited by cores and quota
  for (const Domain& domain : domains) least = std::min({least, domain.threads, domain.cores});
  if (!settings.comm_cores) {
    const int wanted = settings.worker_cores.value_or(least >= kCommFrom ? 1 : 0);
    // Without --comm-cores, no rank gives up its last core.
    return wanted < least ? wanted : 0;
  }
  if (*settings.comm_cores > 0 && *settings.comm_cores >= least) {
    throw Error(
        Exit::kConfig, fmt::format("{}: --comm-cores {}", host, *settings.comm_cores),
        fmt::format("a rank has {} there, and must keep one to compute", plural(least, "core")),
        "fewer ranks per node, or fewer cores for communication");
  }
  return *settings.comm_cores;
}

}  // namespace

NodePins pin_node(const PinSettings& settings, const NodeTopology& topology, int local_size,
                  const std::string& host) {
  NodePins pins;
  const PinRequest& request = settings.request;
  if (request.kind == PinKind::kDefault) {
    // Divides twice: the number of cores per rank decides whether one is kept for communication;
    // the second division excludes it.
    pins.domains = divide_cores(topology, local_size);
    const int comm = comm_cores_of(settings, pins.domains, host);
    if (comm > 0) pins.domains = divide_cores(topology, local_size, comm);
    CpuSet taken;
    for (const Domain& domain : pins.domains) taken = taken | domain.cpus;
    const int slower = slower_cores(topology);
    const bool left_out = std::none_of(
        topology.cores.begin(), topology.cores.end(),
        [&](const Core& core) { return core.kind > 0 && !(CpuSet(core.cpus) & taken).empty(); });
    if (slower > 0 && left_out) {
      pins.notes.push_back(
          fmt::format("{} slower cores (E-cores) get no rank: the others would wait "
                      "for them in every step",
                      slower));
    }
  } else {
    PinDomains asked = pin_domains(request, topology, local_size, settings.threads, host);
    const int share = std::max(1, budget_cores(topology) / local_size);
    for (const CpuSet& cpus : asked.of_rank) {
      pins.domains.push_back(describe(topology, cpus, share));
    }
    pins.warnings = std::move(asked.warnings);
    const int comm = settings.comm_cores.value_or(0);
    if (comm > 0) keep_idle_cores(topology, pins.domains, comm, host);
  }
  for (Domain& domain : pins.domains) bind_memory(topology, request.memory, domain);
  return pins;
}

}  // namespace dtl
