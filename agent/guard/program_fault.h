#pragma once
// Why the kernel does not execute a file. execve(2) says ENOEXEC or ENOENT for all of these, which
// helps nobody. For the agent, after a rank could not be started; the guard must not allocate.

#include <string>

namespace dtl {

struct ProgramFault {
  // As SpawnFailed names it: "format", "interpreter" (it does not exist, or the dynamic loader),
  // "byte-order-mark" or "carriage-return"; empty: the file shows no fault.
  std::string stage;
  std::string reason;  // "it is built for aarch64, but this host is x86_64"
};

// Looks at the first 64 KiB, and at interpreters in turn. A file that cannot be read shows no
// fault.
ProgramFault find_program_fault(const std::string& path);

}  // namespace dtl
