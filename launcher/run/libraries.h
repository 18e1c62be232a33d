#pragma once
// The libraries of others that dtlaunch uses, for --version -v.

#include <vector>

#include "base/library.h"

namespace dtl {

std::vector<Library> launcher_libraries();

}  // namespace dtl
