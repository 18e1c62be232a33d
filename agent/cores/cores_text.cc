#include "agent/cores/cores_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

// Cores with one of these CPUs.
std::ptrdiff_t count_cores(const NodeTopology& topology, const CpuSet& cpus) {
  if (topology.cores.empty()) return cpus.count();  // the node does not know its cores
  return std::count_if(topology.cores.begin(), topology.cores.end(),
                       [&](const Core& core) { return !(CpuSet(core.cpus) & cpus).empty(); });
}

// "1000 alice", "1000 " if the user has no name, "?" if nobody knows the user.
std::string user_words(std::uint32_t id, const std::string& name) {
  if (id == UINT32_MAX) return "?";
  return fmt::format("{} {}", id, printable(name));
}

std::string tickets_text(const NodeTopology& topology, const std::vector<CoreClaim>& claims,
                         const std::vector<Ticket>& tickets) {
  std::map<std::pair<std::string, std::uint32_t>, std::ptrdiff_t> kept;  // cores, by job and user
  for (const CoreClaim& claim : keep_for_waiting(topology, claims, tickets, nullptr)) {
    kept[{claim.job_id, claim.user_id}] = count_cores(topology, claim.cpus);
  }
  std::string text;
  for (const Ticket& ticket : tickets) {
    const auto cores = ticket.cpus.empty() ? ticket.cores : count_cores(topology, ticket.cpus);
    text += fmt::format(
        "ticket {}\nuser {}\nage {}\narrival {}\nwants {}\nwants-cpus {}\nruns {}\nkept {}\n\n",
        printable(ticket.job_id), user_words(ticket.user_id, ticket.user), ticket.age_s,
        ticket.arrival_ms, cores, ticket.cpus.to_list(), ticket.runs_s,
        kept[{ticket.job_id, ticket.user_id}]);
  }
  return text;
}

}  // namespace

std::string cores_text(const NodeTopology& topology, const std::vector<CoreClaim>& claims,
                       const std::vector<Ticket>& tickets) {
  const CpuSet& allowed = topology.allowed;
  CpuSet left = allowed;
  for (const CoreClaim& claim : claims) {
    if (!claim.shared) left = left - claim.cpus;
  }
  std::string text =
      fmt::format("cpus {}\ncores {}\nfree-cpus {}\nfree-cores {}\n\n", allowed.to_list(),
                  count_cores(topology, allowed), left.to_list(), count_cores(topology, left));
  for (const CoreClaim& claim : claims) {
    const CpuSet cpus = claim.cpus & allowed;
    text += fmt::format("job {}\nuser {}\nage {}\nshared {}\ncpus {}\ncores {}\nleft {}\n\n",
                        printable(claim.job_id), user_words(claim.user_id, claim.user), claim.age_s,
                        claim.shared ? "yes" : "no", cpus.to_list(), count_cores(topology, cpus),
                        claim.left_s);
  }
  return text + tickets_text(topology, claims, tickets) + "end\n";
}

}  // namespace dtl
