// The kernel's name for this host, without a look-up: DNS may be slow, or know another name.
#include "base/host_name.h"

#include <unistd.h>

namespace dtl {

std::string own_host_name() {
  // A name has 64 bytes at most on Linux; the last byte here stays 0 whatever the kernel writes.
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

}  // namespace dtl
