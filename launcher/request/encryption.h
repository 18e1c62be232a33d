#pragma once
// --encrypt, as the request has it: all ranks are told that libdtring is to use TLS between hosts.
// What is not libdtring's goes as its own library sends it. dtlaunch cannot change that, so a line
// says so. Pure.

#include <string>
#include <vector>

#include "plan/request/request.h"

namespace dtl {

// Adds the variable to what is set for all ranks, and perhaps a line to `notices`. Throws
// Error(kUsage) where the user has set the same otherwise.
void encrypt(Request& request, std::vector<std::string>& notices);

}  // namespace dtl
