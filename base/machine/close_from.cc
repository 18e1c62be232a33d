// Runs in a child between fork and exec, when another thread may have held malloc's lock: only
// system calls, no allocation, hence no opendir(3).
#include "base/machine/close_from.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace dtl {
namespace {

// linux_dirent64, which no header declares.
struct DirectoryEntry {
  unsigned long long inode;
  long long offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

// False if there is no /proc.
bool close_those_in_proc(int first) {
  const int folder = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(DirectoryEntry) char entries[4096];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const char* entry = entries + at;
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(DirectoryEntry, length), sizeof length);
      const char* name = entry + offsetof(DirectoryEntry, name);
      // "." and ".." are not numbers.
      const int fd = *name == '.' ? -1 : std::atoi(name);
      // Closes the folder's own descriptor last: the loop reads through it.
      if (fd >= first && fd != folder) ::close(fd);
      at += length;
    }
  }
  ::close(folder);
  return true;
}

}  // namespace

void close_from(int first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  if (close_those_in_proc(first)) return;
  // Without /proc: each number up to the limit.
  const long end = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < end; ++fd) ::close(fd);
}

}  // namespace dtl
