#pragma once
// A file in memory with the given bytes, sealed against any change: the job's secret and a rank's
// specification travel in one. CLOEXEC.

#include <string_view>

#include "base/fd.h"

namespace dtl {

Fd sealed_memory_file(const char* name, std::string_view bytes);

}  // namespace dtl
