// Changes the umask for a moment: a file that another thread creates meanwhile gets the wrong mode.
#include "launcher/options/surroundings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"

namespace dtl {
namespace {

std::uint32_t own_umask() {
  const mode_t mask = ::umask(077);  // the only way to read it with a system call
  ::umask(mask);
  return mask;
}

}  // namespace

Surroundings current_surroundings() {
  Surroundings around;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    // A caller of execve(2) may pass anything; no program can look up such an entry.
    if (equals == std::string::npos || equals == 0) continue;
    around.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::error_code failed;
  around.working_directory = std::filesystem::current_path(failed).string();
  if (failed) {
    throw Error(Exit::kOs, "working directory: cannot read its name", failed.message(),
                "cd; dtlaunch ...");
  }
  // Not argv[0], which the caller chooses. dtagent and dttrain are beside the real file.
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed)
    throw Error(Exit::kOs, "/proc/self/exe: cannot read", failed.message(), "ls -l /proc/self/exe");
  around.program_directory = self.parent_path().string();
  around.umask = own_umask();
  around.has_token = find_variable(around.environment, "DTL_TOKEN") != nullptr ||
                     find_variable(around.environment, "DTL_TOKEN_FILE") != nullptr;
  return around;
}

const std::string* find_variable(const Variables& environment, std::string_view wanted) {
  for (const auto& [name, value] : environment) {
    if (name == wanted) return &value;
  }
  return nullptr;
}

}  // namespace dtl
