// Uses the kernel's name for this host, without a lookup: DNS may be slow or have another name.
#include "base/host_name.h"

#include <unistd.h>

namespace dtl {

std::string own_host_name() {
  // Linux names have at most 64 bytes, so the last byte stays 0.
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

}  // namespace dtl
