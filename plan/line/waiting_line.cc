#include "plan/line/waiting_line.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace dtl {
namespace {

// A physical core, as far as jobs may use it.
using CoreCpus = CpuSet;

std::vector<CoreCpus> cores_of(const NodeTopology& topology) {
  std::vector<CoreCpus> cores;
  for (const Core& core : topology.cores) {
    CoreCpus cpus = CpuSet(core.cpus) & topology.allowed;
    if (!cpus.empty()) cores.push_back(std::move(cpus));
  }
  return cores;
}

bool can_use(const Ticket& ticket, const CoreCpus& core) {
  if (!ticket.cpus.empty()) return !(core & ticket.cpus).empty();
  return ticket.usable.empty() || !(core & ticket.usable).empty();
}

std::size_t wanted_of(const Ticket& ticket, const std::vector<CoreCpus>& cores) {
  if (ticket.cpus.empty()) return static_cast<std::size_t>(std::max(ticket.cores, 0));
  return static_cast<std::size_t>(std::count_if(
      cores.begin(), cores.end(), [&](const CoreCpus& core) { return can_use(ticket, core); }));
}

std::uint64_t busy_seconds(const CoreCpus& core, const std::vector<CoreClaim>& claims) {
  std::uint64_t busy = 0;
  for (const CoreClaim& claim : claims) {
    if (!claim.shared && !(claim.cpus & core).empty()) busy = std::max(busy, claim.left_s);
  }
  return busy;
}

bool is_free(const CoreCpus& core, const std::vector<CoreClaim>& claims) {
  return std::none_of(claims.begin(), claims.end(), [&](const CoreClaim& claim) {
    return !claim.shared && !(claim.cpus & core).empty();
  });
}

// How soon the ticket's job could start here, in seconds, if it had no other host and nobody were
// before it. UINT64_MAX: the node has fewer cores than that.
std::uint64_t earliest_start(const Ticket& ticket, const std::vector<CoreCpus>& cores,
                             const std::vector<CoreClaim>& claims) {
  std::vector<std::uint64_t> busy;
  for (const CoreCpus& core : cores) {
    if (can_use(ticket, core)) busy.push_back(busy_seconds(core, claims));
  }
  const std::size_t wanted = wanted_of(ticket, cores);
  if (wanted == 0) return 0;
  if (wanted > busy.size()) return UINT64_MAX;
  std::sort(busy.begin(), busy.end());
  return busy[wanted - 1];
}

// Takes the cores out of `free`.
CpuSet keep(const Ticket& ticket, std::size_t wanted, std::vector<CoreCpus>& free) {
  CpuSet kept;
  for (std::size_t at = free.size(); at > 0 && wanted > 0; --at) {
    if (!can_use(ticket, free[at - 1])) continue;
    kept = kept | free[at - 1];
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(at - 1));
    --wanted;
  }
  return kept;
}

}  // namespace

bool goes_before(const Ticket& a, const Ticket& b) {
  return std::tie(a.arrival_ms, a.job_id) < std::tie(b.arrival_ms, b.job_id);
}

std::vector<CoreClaim> keep_for_waiting(const NodeTopology& topology,
                                        const std::vector<CoreClaim>& claims,
                                        std::vector<Ticket> tickets, const Ticket* own) {
  const std::vector<CoreCpus> cores = cores_of(topology);
  std::vector<CoreCpus> free;
  for (const CoreCpus& core : cores) {
    if (is_free(core, claims)) free.push_back(core);
  }
  std::set<std::pair<std::string, std::uint32_t>> started;
  for (const CoreClaim& claim : claims) started.emplace(claim.job_id, claim.user_id);
  std::sort(tickets.begin(), tickets.end(), goes_before);
  std::vector<CoreClaim> kept;
  for (const Ticket& ticket : tickets) {
    if (free.empty()) break;
    if (own != nullptr && !goes_before(ticket, *own)) break;
    if (started.contains({ticket.job_id, ticket.user_id})) continue;
    const bool overtakes =
        own != nullptr && own->runs_s > 0 && own->runs_s <= earliest_start(ticket, cores, claims);
    if (overtakes) continue;
    CpuSet cpus = keep(ticket, wanted_of(ticket, cores), free);
    if (cpus.empty()) continue;
    CoreClaim claim{ticket.job_id, ticket.user_id, ticket.user, ticket.age_s, std::move(cpus)};
    claim.waits = true;
    kept.push_back(std::move(claim));
  }
  return kept;
}

}  // namespace dtl
