#pragma once
// Whose a listening abstract socket is. The kernel's list does not say it. A connection does, by
// SO_PEERCRED: the process that made it listen.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "plan/pinning/cpu_set.h"

namespace dtl {

// A socket in the kernel's /proc/net/unix.
struct NamedSocket {
  std::string name;  // without the leading NUL
  bool listens = false;
  std::uint32_t inode = 0;
};

struct Holder {
  std::optional<uid_t> user;     // absent: the kernel does not say
  std::optional<pid_t> process;  // absent: the same, or it is in another PID namespace
  CpuSet usable = {};            // CPUs that it may run on; empty: unknown
};

// nullopt if nobody listens there, or the process has ended.
std::optional<Holder> find_holder(const NamedSocket& socket);

}  // namespace dtl
