#include "plan/wanted_cores.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "plan/pinning/pinning.h"
#include "plan/placement.h"

namespace dtl {
namespace {

// The user has named CPUs, and no others would do.
bool names_cpus(const PinRequest& pins) {
  const bool has_list = pins.kind == PinKind::kProcessor && !pins.masks.empty();
  return pins.kind == PinKind::kMasks || pins.kind == PinKind::kUser || has_list;
}

int count_cores(const NodeTopology& topology, const CpuSet& cpus) {
  return static_cast<int>(
      std::count_if(topology.cores.begin(), topology.cores.end(),
                    [&](const Core& core) { return !(CpuSet(core.cpus) & cpus).empty(); }));
}

TicketWish wanted_on(const Request& request, std::size_t host, const NodeTopology& topology,
                     int ranks) {
  const Host* const named = request.hosts.empty() ? nullptr : &request.hosts[host];
  const PinRequest pins = pin_request_of(request, named);
  TicketWish wanted{ranks, {}};
  // Without pins of the user's, ranks divide what is free, and one core for each will do.
  if (pins.kind != PinKind::kDefault && pins.kind != PinKind::kNone) {
    PinSettings settings;
    settings.request = pins;
    settings.comm_cores = request.pinning.comm_cores;
    CpuSet cpus;
    const std::string name = named == nullptr ? "localhost" : named->name;
    for (const Domain& domain : pin_node(settings, topology, ranks, name).domains) {
      cpus = cpus | domain.cpus | CpuSet(domain.comm);
    }
    if (!cpus.empty()) wanted.cores = count_cores(topology, cpus);
    if (names_cpus(pins)) wanted.cpus = cpus;
  }
  wanted.cores = std::clamp(wanted.cores, 1, budget_cores(topology));
  return wanted;
}

}  // namespace

bool needs_every_host(const Request& request, const std::vector<NodeFacts>& facts) {
  constexpr std::size_t kMostTried = 64;
  std::vector<NodeFacts> alone = facts;
  for (NodeFacts& each : alone) each.claims.clear();
  std::vector<std::size_t> order(facts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return budget_cores(facts[one].topology) < budget_cores(facts[other].topology);
  });
  order.resize(std::min(order.size(), kMostTried));
  for (const std::size_t host : order) {
    CoreClaim all;
    all.job_id = "0";
    all.cpus = alone[host].topology.allowed;
    alone[host].claims = {std::move(all)};
    try {
      const std::vector<RankPlace> places = place_ranks_on(request, alone);
      const bool has_none = std::none_of(places.begin(), places.end(), [&](const RankPlace& place) {
        return static_cast<std::size_t>(place.host) == host;
      });
      if (has_none) return false;
    } catch (const Error&) {
      // It is needed.
    }
    alone[host].claims.clear();
  }
  return true;
}

std::vector<TicketWish> wanted_cores(const Request& request, const std::vector<NodeFacts>& facts) {
  std::vector<NodeFacts> alone = facts;
  for (NodeFacts& each : alone) each.claims.clear();
  std::map<int, int> ranks;  // by host
  for (const RankPlace& place : place_ranks_on(request, alone)) ++ranks[place.host];
  std::vector<TicketWish> wanted(facts.size());
  int most = 1;
  for (const auto& [host, count] : ranks) {
    const auto at = static_cast<std::size_t>(host);
    wanted[at] = wanted_on(request, at, facts[at].topology, count);
    most = std::max(most, wanted[at].cores);
  }
  for (std::size_t host = 0; host < facts.size(); ++host) {
    if (wanted[host].cores > 0) continue;
    wanted[host].cores = std::min(most, budget_cores(facts[host].topology));
  }
  return wanted;
}

}  // namespace dtl
