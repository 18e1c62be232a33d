#pragma once
// The libraries of others that dtlaunch uses, for --version -v: a security fix of a library does
// not reach what was linked in before, so whoever runs dtlaunch must be able to see what is inside.

#include <vector>

#include "base/library.h"

namespace dtl {

std::vector<Library> launcher_libraries();

}  // namespace dtl
