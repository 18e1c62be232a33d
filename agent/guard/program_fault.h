#pragma once
// Explains why the kernel does not execute a file. execve(2) reports only ENOEXEC or ENOENT for all
// of these. For the agent, after a rank failed to start; the guard must not allocate.

#include <string>

namespace dtl {

struct ProgramFault {
  // As SpawnFailed names it: "format", "interpreter" (it or the dynamic loader does not exist),
  // "byte-order-mark" or "carriage-return"; empty: no fault found.
  std::string stage;
  std::string reason;  // "it is built for aarch64, but this host is x86_64"
};

// Examines the first 64 KiB, and interpreters in turn. A file that cannot be read has no fault.
ProgramFault find_program_fault(const std::string& path);

}  // namespace dtl
