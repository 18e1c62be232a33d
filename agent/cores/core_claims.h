#pragma once
// Who has which cores of this node, as all agents on it say. A claim is an abstract unix socket of
// the agent, whose name says what is claimed (claim_name.h). The kernel removes it when the agent
// ends, however that happens. No file, folder or daemon is involved, and nobody can remove the
// socket of another process. Sockets, and so claims, are seen within one network namespace.
//
// A bound socket is an intention, a listening one a claim. Whoever binds looks at the others after
// that, so of two jobs that want the same cores at least one sees the other.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cores/claim_name.h"
#include "agent/cores/socket_holder.h"

namespace dtl {

struct SeenClaim {
  ClaimName says;
  bool intended = false;        // not claimed yet
  std::optional<uid_t> user;    // as the kernel says; absent: it does not say, or it is intended
  std::optional<pid_t> holder;  // absent: the same, or it is in another PID namespace
  std::optional<std::chrono::milliseconds> until;  // of CLOCK_BOOTTIME: the job ends by then
};

// The sockets of claims, tickets and ends in the kernel's /proc/net/unix.
std::vector<NamedSocket> job_sockets_in(std::string_view proc_net_unix);
// Of this node. Error(kOs) if the kernel's list of sockets cannot be read.
std::vector<NamedSocket> job_sockets_here();

// The claims and intentions of other processes for one of these CPUs; none of job `own_job`. CPUs
// that the holder itself may not use are left out, so nobody can claim more than they could run on.
std::vector<SeenClaim> claims_of_others(const std::vector<NamedSocket>& sockets,
                                        const CpuSet& allowed, std::string_view own_job);

}  // namespace dtl
