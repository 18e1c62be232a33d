#include "agent/cores/core_claims.h"

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "agent/cores/socket_holder.h"
#include "agent/cores/ticket_name.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

// Of the whole list: a hundred thousand sockets have 10 MiB.
constexpr std::size_t kMostListBytes = 256 << 20;
constexpr unsigned long kListens = 0x10000;  // __SO_ACCEPTCON among a socket's flags
constexpr std::string_view kUnconnected = "01";

bool is_of_job(std::string_view name) {
  return name.starts_with(kClaimPrefix) || name.starts_with(kTicketPrefix) ||
         name.starts_with(kEndPrefix);
}

// Finds out whose the claim is. False if nobody's, or its CPUs are not ones that the holder could
// use.
bool identify(SeenClaim& claim, const NamedSocket& socket) {
  const auto holder = find_holder(socket);
  if (!holder) return false;
  claim.user = holder->user;
  claim.holder = holder->process;
  if (!holder->usable.empty()) claim.says.cpus = claim.says.cpus & holder->usable;
  return !claim.says.cpus.empty();
}

// When jobs leave their cores, as far as they say so: by job and by who says it.
using Ends = std::map<std::pair<std::string, uid_t>, std::chrono::milliseconds>;

Ends ends_of(const std::vector<SeenClaim>& claims, const std::vector<NamedSocket>& sockets) {
  std::set<std::string> jobs;
  for (const SeenClaim& claim : claims) jobs.insert(claim.says.job_id);
  Ends ends;
  for (const NamedSocket& socket : sockets) {
    const auto end = read_end_name(socket.name);
    if (!end || !socket.listens || !jobs.contains(end->job_id)) continue;
    const auto holder = find_holder(socket);
    if (holder && holder->user) ends[{end->job_id, *holder->user}] = end->until;
  }
  return ends;
}

}  // namespace

// "Num RefCount Protocol Flags Type St Inode Path": an abstract name has '@' before it. The kernel
// writes names as they are, so a name with line ends may make up lines: identify() asks the kernel.
std::vector<NamedSocket> job_sockets_in(std::string_view proc_net_unix) {
  std::vector<NamedSocket> found;
  std::string_view rest = proc_net_unix;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t at = line.find(" @");
    if (at == line.npos || !is_of_job(line.substr(at + 2))) continue;
    std::istringstream words{std::string(line.substr(0, at))};
    std::string number, references, protocol, flags, type, state;
    NamedSocket socket{std::string(line.substr(at + 2)), false, 0};
    words >> number >> references >> protocol >> flags >> type >> state >> socket.inode;
    if (state != kUnconnected) continue;  // waits to be accepted, under the listener's name
    socket.listens = (std::strtoul(flags.c_str(), nullptr, 16) & kListens) != 0;
    found.push_back(std::move(socket));
  }
  return found;
}

std::vector<NamedSocket> job_sockets_here() {
  return job_sockets_in(read_file("/proc/net/unix", kMostListBytes));
}

std::vector<SeenClaim> claims_of_others(const std::vector<NamedSocket>& sockets,
                                        const CpuSet& allowed, std::string_view own_job) {
  std::vector<SeenClaim> claims;
  if (allowed.empty()) return claims;
  const int highest = allowed.to_vector().back();
  for (const NamedSocket& socket : sockets) {
    auto says = read_claim_name(socket.name, highest);
    if (!says || says->job_id == own_job || (says->cpus & allowed).empty()) continue;
    SeenClaim claim{std::move(*says), !socket.listens, {}, {}, {}};
    if (socket.listens && !identify(claim, socket)) continue;
    claim.says.cpus = claim.says.cpus & allowed;
    if (!claim.says.cpus.empty()) claims.push_back(std::move(claim));
  }
  const Ends ends = ends_of(claims, sockets);
  for (SeenClaim& claim : claims) {
    if (!claim.user) continue;
    const auto end = ends.find({claim.says.job_id, *claim.user});
    if (end != ends.end()) claim.until = end->second;
  }
  return claims;
}

}  // namespace dtl
