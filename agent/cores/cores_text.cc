#include "agent/cores/cores_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

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
std::string user_words(const CoreClaim& claim) {
  if (claim.user_id == UINT32_MAX) return "?";
  return fmt::format("{} {}", claim.user_id, printable(claim.user));
}

}  // namespace

std::string cores_text(const NodeTopology& topology, const std::vector<CoreClaim>& claims) {
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
    text += fmt::format("job {}\nuser {}\nage {}\nshared {}\ncpus {}\ncores {}\n\n",
                        printable(claim.job_id), user_words(claim), claim.age_s,
                        claim.shared ? "yes" : "no", cpus.to_list(), count_cores(topology, cpus));
  }
  return text + "end\n";
}

}  // namespace dtl
