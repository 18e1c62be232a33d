#include "agent/cores/socket_holder.h"

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>

#include "agent/cores/abstract_socket.h"
#include "agent/cores/socket_user.h"
#include "base/fd.h"

namespace dtl {
namespace {

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

}  // namespace

// A full queue hides the process, but not the user.
std::optional<Holder> find_holder(const NamedSocket& socket) {
  const Fd connection = connect_abstract(socket.name);
  if (!connection.valid()) {
    if (errno != EAGAIN) return std::nullopt;
    return Holder{user_of_socket(socket.inode, socket.name), {}, {}};
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return Holder{};
  Holder holder{peer.uid, {}, {}};
  if (peer.pid <= 0) return holder;  // in another PID namespace
  holder.process = peer.pid;
  auto usable = cpus_allowed_to(peer.pid);
  if (!usable) return std::nullopt;
  holder.usable = std::move(*usable);
  return holder;
}

}  // namespace dtl
