#include "base/host_name.h"

#include <unistd.h>

namespace dtl {

std::string own_host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

}  // namespace dtl
