#pragma once

// In one place, so that records, messages and locks use the same name.
#include <string>

namespace dtl {

// This machine's own name: gethostname(2), or "localhost" if that fails.
std::string own_host_name();

}  // namespace dtl
