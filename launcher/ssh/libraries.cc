// Versions at run time, and the address of a function, from which base/library.h tells whether the
// library is linked in or which shared one was loaded.
#include "launcher/ssh/libraries.h"

#include <libssh/libssh.h>
#include <zlib.h>

namespace dtl {

std::vector<Library> ssh_libraries() {
  // "0.10.6/openssl/zlib"
  const std::string ssh = ::ssh_version(0);
  return {{"libssh", ssh.substr(0, ssh.find('/')), address_of(&::ssh_version)},
          {"zlib", ::zlibVersion(), address_of(&::zlibVersion)}};
}

}  // namespace dtl
