#include "launcher/options/trusted_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {

std::string read_trusted_file(const std::string& path, std::size_t limit_bytes,
                              const std::string& kind) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return read_file(path, limit_bytes);
  }
  // Who writes it chooses where the job's commands and secrets go.
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    throw Error(Exit::kBadInput, path,
                fmt::format("this {} belongs to another user ({})", kind, status.st_uid),
                "read it, then use a copy of your own");
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    throw Error(Exit::kBadInput, path, fmt::format("everybody may write this {}", kind),
                "chmod o-w " + path);
  }
  return read_file(path, limit_bytes);
}

}  // namespace dtl
