#pragma once
// Why the kernel does not execute a file.

#include <string>

namespace dtl {

struct ProgramFault {
  // As SpawnFailed names it: "format", "interpreter" (what should run the file is not there),
  // "byte-order-mark" or "carriage-return"; empty: nothing is wrong that the file itself shows.
  std::string stage;
  std::string reason;  // "it is made for aarch64, and this host is x86_64"
};

// Reads the file's beginning; what cannot be read has no fault that it shows.
ProgramFault find_program_fault(const std::string& path);

}  // namespace dtl
