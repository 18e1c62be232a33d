// Why this cannot take a segment from a running job, ours or another's:
//  - The names are those that MPICH, Intel MPI, UCX and Open MPI give to segments. The process that
//    creates one maps it until the job ends or the file has been removed. So if nobody has it,
//    nobody needs it: other ranks never wait for a file whose creator is gone.
//  - The kernel grants a write lease (fcntl(2)) only if no other process has the file open or
//    mapped, in any container and of any user. Nobody can open the file until we close it.
//  - The creator sizes the file after opening it. A file with a size has been opened.
#include "agent/jobs/unused_segments.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fd.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "/dev/shm";
// Intel MPI removes its files while it starts. One stays if a rank is killed just then.
constexpr std::string_view kPrefixes[] = {
    "mpich_shm_",     "mpich_vci_",    "mpich_shar_tmp",  // MPICH 5; 4 and older
    "Intel_MPI_",                                         // Intel MPI
    "ucx_shm_posix_",                                     // UCX, in any MPI
    "sm_segment.",    "vader_segment."};                  // Open MPI 5; 4 and older

bool is_segment(std::string_view name) {
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Elsewhere, leases may say nothing about other machines.
bool is_memory(int file) {
  struct statfs system {};
  return ::fstatfs(file, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

bool is_own_file(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
         found.st_nlink == 1 && found.st_size > 0;
}

// Until the file is closed, others that open it wait.
bool has_to_itself(int file) {
  // Sent if somebody opens it meanwhile. The default, SIGIO, would end this process.
  if (::fcntl(file, F_SETSIG, SIGURG) != 0) return false;
  return ::fcntl(file, F_SETLEASE, F_WRLCK) == 0;
}

bool remove_if_unused(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() || !is_memory(file.get()) || !is_own_file(file.get())) return false;
  return has_to_itself(file.get()) && ::unlink(path.c_str()) == 0;
}

}  // namespace

std::vector<std::string> remove_unused_segments() {
  std::vector<std::string> found, removed;
  std::error_code failed;
  for (fs::directory_iterator entry(kFolder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (is_segment(entry->path().filename().string())) found.push_back(entry->path().string());
  }
  std::copy_if(found.begin(), found.end(), std::back_inserter(removed), remove_if_unused);
  return removed;
}

}  // namespace dtl
