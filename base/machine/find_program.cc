// access(2) checks permissions for the current user. A program that cannot be executed is skipped,
// as in shells.
#include "base/machine/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace dtl {

std::optional<std::string> find_program(std::string_view name, std::string_view path) {
  for (const std::string& folder : split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    std::string file = folder + "/" + std::string(name);
    struct stat info {};
    const bool is_file = ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (is_file && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

}  // namespace dtl
