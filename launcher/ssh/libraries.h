#pragma once
// Which libssh, and which zlib with it, is inside or loaded: for --version -v. Here because only
// this room includes them.

#include <vector>

#include "base/library.h"

namespace dtl {

std::vector<Library> ssh_libraries();

}  // namespace dtl
