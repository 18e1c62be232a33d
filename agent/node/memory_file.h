#pragma once
// A file in memory with the given bytes, sealed against any change: the job's secret and a rank's
// specification travel in one. It has no name in any folder and goes with its last descriptor, so
// that a killed agent leaves no secret behind. Close-on-exec.

#include <string_view>

#include "base/fd.h"

namespace dtl {

// name: what /proc/PID/fd shows. Throws Error(kOs).
Fd sealed_memory_file(const char* name, std::string_view bytes);

}  // namespace dtl
