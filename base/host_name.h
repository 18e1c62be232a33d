#pragma once

#include <string>

namespace dtl {

// This machine's own name: gethostname(2), "localhost" where that fails.
std::string own_host_name();

}  // namespace dtl
