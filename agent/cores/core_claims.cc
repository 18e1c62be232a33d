// The kernel's list does not say whose a socket is. A connection does, by SO_PEERCRED: the process
// that made it listen.
#include "agent/cores/core_claims.h"

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "agent/cores/abstract_socket.h"
#include "agent/cores/socket_user.h"
#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

// Of the whole list: a hundred thousand sockets have 10 MiB.
constexpr std::size_t kMostListBytes = 256 << 20;
constexpr unsigned long kListens = 0x10000;  // __SO_ACCEPTCON among a socket's flags
constexpr std::string_view kUnconnected = "01";

// The CPUs that a process may run on; nullopt if it has ended. Empty: unknown.
std::optional<CpuSet> cpus_allowed_to(pid_t process) {
  for (int most = 1024; most <= 1 << 17; most *= 8) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(most));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
    CPU_ZERO_S(bytes, set);
    const bool known = ::sched_getaffinity(process, bytes, set) == 0;
    const int problem = errno;
    CpuSet cpus;
    for (int cpu = 0; known && cpu < most; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.add(cpu);
    }
    CPU_FREE(set);
    if (known) return cpus;
    if (problem == ESRCH) return std::nullopt;
    if (problem != EINVAL) return CpuSet();  // EINVAL: the kernel has more CPUs than that
  }
  return CpuSet();
}

// Finds out whose the claim is. False if nobody's: nobody listens there, its holder has ended, or
// its CPUs are not ones that the holder could use. A full queue hides the holder, but not the user.
bool identify(SeenClaim& claim, const NamedSocket& socket) {
  const Fd connection = connect_abstract(socket.name);
  if (!connection.valid()) {
    if (errno != EAGAIN) return false;
    claim.user = user_of_socket(socket.inode, socket.name);
    return true;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return true;
  claim.user = peer.uid;
  if (peer.pid <= 0) return true;  // in another PID namespace
  claim.holder = peer.pid;
  const auto usable = cpus_allowed_to(peer.pid);
  if (!usable) return false;
  if (!usable->empty()) claim.says.cpus = claim.says.cpus & *usable;
  return !claim.says.cpus.empty();
}

}  // namespace

// "Num RefCount Protocol Flags Type St Inode Path": an abstract name has '@' before it. The kernel
// writes names as they are, so a name with line ends may make up lines: identify() asks the kernel.
std::vector<NamedSocket> claims_in(std::string_view proc_net_unix) {
  std::vector<NamedSocket> found;
  std::string_view rest = proc_net_unix;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t at = line.find(" @");
    if (at == line.npos || !line.substr(at + 2).starts_with(kClaimPrefix)) continue;
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

std::vector<SeenClaim> claims_of_others(const CpuSet& allowed, std::string_view own_job) {
  std::vector<SeenClaim> claims;
  if (allowed.empty()) return claims;
  const int highest = allowed.to_vector().back();
  for (const NamedSocket& socket : claims_in(read_file("/proc/net/unix", kMostListBytes))) {
    auto says = read_claim_name(socket.name, highest);
    if (!says || says->job_id == own_job || (says->cpus & allowed).empty()) continue;
    SeenClaim claim{std::move(*says), !socket.listens, {}, {}};
    if (socket.listens && !identify(claim, socket)) continue;
    claim.says.cpus = claim.says.cpus & allowed;
    if (!claim.says.cpus.empty()) claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace dtl
