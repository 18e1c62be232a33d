#pragma once
// Why the kernel does not execute a file.

#include <string>

namespace dtl {

struct ProgramFault {
  // As SpawnFailed names it: "format", "interpreter" (it does not exist, or the dynamic loader),
  // "byte-order-mark" or "carriage-return"; empty: the file shows no fault.
  std::string stage;
  std::string reason;  // "it is built for aarch64, but this host is x86_64"
};

// Reads the first 64 KiB. A file that cannot be read shows no fault.
ProgramFault find_program_fault(const std::string& path);

}  // namespace dtl
