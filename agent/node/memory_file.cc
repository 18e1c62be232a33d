// Sealed after writing: from then on no process with the descriptor can change it, neither we nor a
// rank. A process that maps it need not fear that it shrinks.
#include "agent/node/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace dtl {

Fd sealed_memory_file(const char* name, std::string_view bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) throw system_error("cannot create a file in memory");
  write_all(fd.get(), bytes);
  ::lseek(fd.get(), 0, SEEK_SET);  // for readers that do not give an offset
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) throw system_error("cannot seal a memory file");
  return fd;
}

}  // namespace dtl
