#pragma once
// --encrypt: tells all ranks that libdtring must use TLS between hosts. Other libraries send their
// data as before, which dtlaunch cannot change; a notice says so. Pure.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// Adds the variable for all ranks, and perhaps a line to `notices`. Throws Error(kUsage) if the
// user has set the variable to another value.
void encrypt(Request& request, std::vector<std::string>& notices);

}  // namespace dtl
