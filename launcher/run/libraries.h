#pragma once
// The third-party libraries of dtlaunch, for --version -v: a security fix of a library does not
// reach statically linked copies, so users must be able to see the versions inside.

#include <vector>

#include "base/library.h"

namespace dtl {

std::vector<Library> launcher_libraries();

}  // namespace dtl
