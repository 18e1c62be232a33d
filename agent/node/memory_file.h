#pragma once
// A memory file with the given bytes, sealed against any change: for the job's secret and a rank's
// specification. It has no name in a folder and vanishes with its last descriptor, so a killed
// agent leaves no secret behind. Close-on-exec.

#include <string_view>

#include "base/fd.h"

namespace dtl {

// name: what /proc/PID/fd shows. Throws Error(kOs).
Fd sealed_memory_file(const char* name, std::string_view bytes);

}  // namespace dtl
