#pragma once
// Who has which cores of this node, as all agents on it say. A claim is an abstract unix socket of
// the agent, whose name says what is claimed (claim_name.h). The kernel removes it when the agent
// ends, however that happens. No file, folder or daemon is involved, and nobody can remove the
// socket of another process. Sockets, and so claims, are seen within one network namespace.
//
// A bound socket is an intention, a listening one a claim. Whoever binds looks at the others after
// that, so of two jobs that want the same cores at least one sees the other.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cores/claim_name.h"

namespace dtl {

struct SeenClaim {
  ClaimName says;
  bool intended = false;        // not claimed yet
  std::optional<uid_t> user;    // as the kernel says; absent: it does not say, or it is intended
  std::optional<pid_t> holder;  // absent: the same, or it is in another PID namespace
};

// The claims and intentions of other processes for one of these CPUs; none of job `own_job`. CPUs
// that the holder itself may not use are left out, so nobody can claim more than they could run on.
// Error(kOs) if the kernel's list of sockets cannot be read.
std::vector<SeenClaim> claims_of_others(const CpuSet& allowed, std::string_view own_job);

// The names of claims in the kernel's /proc/net/unix, with whether each listens.
struct NamedSocket {
  std::string name;  // without the leading NUL
  bool listens = false;
  std::uint32_t inode = 0;
};
std::vector<NamedSocket> claims_in(std::string_view proc_net_unix);

}  // namespace dtl
