#pragma once

// This host's name, in one place, so that records, messages and locks agree on it.
#include <string>

namespace dtl {

// This machine's own name: gethostname(2), "localhost" where that fails.
std::string own_host_name();

}  // namespace dtl
