#pragma once
// The versions of libssh and its zlib, linked in or loaded: for --version -v. Here because only
// this room includes them.

#include <vector>

#include "base/library.h"

namespace dtl {

std::vector<Library> ssh_libraries();

}  // namespace dtl
