#pragma once
// Names of users. dtagent is static, and getpwuid(3) would load libraries that a host may not have.

#include <sys/types.h>

#include <string>

namespace dtl {

// From /etc/passwd; empty if it has none: the user may be in a directory service.
std::string user_name(uid_t user);

}  // namespace dtl
