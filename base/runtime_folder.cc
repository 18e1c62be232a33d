#include "base/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"

namespace dtl {
namespace {

constexpr mode_t kPrivate = 0700;

std::string from_environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string own_folder_in_tmp() {
  return "/tmp/dtlaunch-" + std::to_string(::geteuid());
}

}  // namespace

bool is_private_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

void make_private_folder(const std::string& path) {
  const std::string attempted = "cannot use the folder " + path;
  if (::mkdir(path.c_str(), kPrivate) != 0) {
    if (errno == ENOENT) {
      const std::string parent = path.substr(0, path.rfind('/'));
      if (!parent.empty() && ::access(parent.c_str(), F_OK) != 0) {
        make_private_folder(parent);
        make_private_folder(path);
        return;
      }
    }
    if (errno != EEXIST) throw system_error(attempted, Exit::kCannotWrite);
  }
  if (is_private_folder(path)) return;
  throw Error(Exit::kConfig, attempted, "it is not a folder of this user's alone (mode 0700)",
              "ls -ld " + path);
}

std::string runtime_folder() {
  const std::string path = own_folder_in_tmp();
  make_private_folder(path);
  return path;
}

std::string runtime_subfolder(const std::string& name) {
  const std::string path = runtime_folder() + "/" + name;
  make_private_folder(path);
  return path;
}

std::string state_folder() {
  const std::string state = from_environment("XDG_STATE_HOME");
  if (!state.empty()) return state + "/dtlaunch";
  const std::string home = from_environment("HOME");
  return home.empty() ? own_folder_in_tmp() + "/kept" : home + "/.local/state/dtlaunch";
}

std::vector<std::string> service_folders() {
  std::vector<std::string> folders;
  const std::string session = from_environment("XDG_RUNTIME_DIR");
  if (!session.empty()) folders.push_back(session + "/dtlaunch");
  folders.push_back("/run/user/" + std::to_string(::geteuid()) + "/dtlaunch");
  folders.push_back(own_folder_in_tmp());
  std::erase_if(folders, [](const std::string& path) { return !is_private_folder(path); });
  return folders;
}

}  // namespace dtl
