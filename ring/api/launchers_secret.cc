// Walks up the process tree in /proc. Opening /proc/PID/fd/N creates a separate descriptor, so the
// other process is not affected.
#include "ring/api/launchers_secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/text.h"

namespace dtl::ring {
namespace {

// Maximum number of ancestors, in case the chain changes meanwhile.
constexpr int kGenerations = 64;

// The parent of a process; 0 if there is none or it is not visible.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  // "PID (NAME) STATE PARENT ...", where NAME may contain blanks and parentheses.
  const auto name_ends = text.rfind(')');
  if (name_ends == std::string::npos || text.size() < name_ends + 4) return 0;
  const auto parent = parse_integer(split(text.substr(name_ends + 4), ' ').front(), 0, INT32_MAX);
  return parent ? static_cast<pid_t>(*parent) : 0;
}

bool is_closed_on_exec(pid_t pid, int number) {
  std::ifstream file(fmt::format("/proc/{}/fdinfo/{}", pid, number));
  std::string name;
  // If it cannot be read, assume close-on-exec.
  unsigned flags = O_CLOEXEC;
  while (file >> name) {
    if (name == "flags:") file >> std::oct >> flags;
  }
  return (flags & O_CLOEXEC) != 0;
}

}  // namespace

bool is_sealed_memory(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

std::optional<Fd> sealed_memory_above(int number) {
  pid_t pid = ::getppid();
  for (int generation = 0; pid > 1 && generation < kGenerations; generation++) {
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, number);
    // O_NONBLOCK: opening a pipe could wait forever for its other end.
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd.valid() && is_sealed_memory(fd.get()) && !is_closed_on_exec(pid, number)) return fd;
    pid = parent_of(pid);
  }
  return std::nullopt;
}

}  // namespace dtl::ring
