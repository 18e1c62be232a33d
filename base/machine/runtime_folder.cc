// Safety rests on two checks with lstat(2): this user owns the folder, and nobody else may enter
// it. So names inside need no further checks.
#include "base/machine/runtime_folder.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/host_name.h"

namespace dtl {
namespace {

constexpr mode_t kPrivate = 0700;
// The maximum length of a socket's path: sun_path also needs a NUL.
constexpr std::size_t kMostSocketBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kHolder = "up", kSocket = ".socket";
constexpr std::size_t kHolderSocketBytes = 24;  // with a job number of ten digits, and some room

std::string from_environment(const char* name) {
  // secure_getenv: a setuid program gets its environment from another user. Ignores relative paths,
  // as the XDG specification requires.
  const char* value = ::secure_getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string own_folder_in_tmp() {
  return "/tmp/dtlaunch-" + std::to_string(::geteuid());
}

std::string own_state() {
  const std::string state = from_environment("XDG_STATE_HOME");
  if (!state.empty()) return state + "/dtlaunch";
  const std::string home = from_environment("HOME");
  return home.empty() ? "" : home + "/.local/state/dtlaunch";
}

// Candidates for runtime_folder(), the best first. Anybody can take a name in /tmp, so it is last.
// Many machines may share a home, so the folder there has this machine's name.
std::vector<std::string> runtime_places() {
  std::vector<std::string> places;
  const std::string of_session = "/run/user/" + std::to_string(::geteuid());
  for (const std::string& session : {from_environment("XDG_RUNTIME_DIR"), of_session}) {
    const std::string place = session + "/dtlaunch";
    if (is_private_folder(session) || is_private_folder(place)) places.push_back(place);
  }
  const std::string state = own_state();
  if (!state.empty()) places.push_back(state + "/run-" + own_host_name());
  places.push_back(own_folder_in_tmp());
  // sun_path has 108 bytes: a home with a long path cannot hold sockets.
  std::erase_if(places, [](const std::string& path) {
    const std::size_t name = std::max(std::string(kServiceSocket).size(), kHolderSocketBytes);
    return path.size() + 1 + name > kMostSocketBytes;
  });
  return places;
}

// Empty if it is a folder that only this user can enter.
std::string why_not_private(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return errno_text(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a folder";
  if (status.st_uid != ::geteuid()) {
    return "it belongs to another user (" + std::to_string(status.st_uid) + ")";
  }
  return (status.st_mode & 077) == 0 ? "" : "others can enter it";
}

}  // namespace

bool is_private_folder(const std::string& path) {
  return why_not_private(path).empty();
}

void make_private_folder(const std::string& path) {
  const std::string attempted = path + ": cannot use the folder";
  const std::string in_tmp = own_folder_in_tmp();  // others may own it, and root may write it
  if (path.starts_with(in_tmp + "/")) make_private_folder(in_tmp);
  if (::mkdir(path.c_str(), kPrivate) != 0) {
    if (errno == ENOENT) {
      // Missing parents become private too. Existing ones may belong to anybody: only the last
      // folder must be safe.
      const std::string parent = path.substr(0, path.rfind('/'));
      if (!parent.empty() && ::access(parent.c_str(), F_OK) != 0) {
        make_private_folder(parent);
        make_private_folder(path);
        return;
      }
    }
    if (errno != EEXIST) throw system_error(attempted, Exit::kCannotWrite);
  }
  // Also for a folder just created: another process may have been faster.
  const std::string problem = why_not_private(path);
  if (problem.empty()) return;
  throw Error(Exit::kConfig, attempted, problem + "; it must belong to this user alone (mode 0700)",
              "ls -ld " + path);
}

std::string runtime_folder() {
  std::string reasons;
  for (const std::string& place : runtime_places()) {
    try {
      make_private_folder(place);
      if (::access(place.c_str(), W_OK) == 0) return place;
      throw system_error(place + ": cannot use the folder");
    } catch (const Error& error) {  // try the next one
      reasons += (reasons.empty() ? "" : "; ") + error.attempted() + ": " + error.reason();
    }
  }
  throw Error(Exit::kConfig, "records and sockets of jobs: cannot use any folder", reasons,
              "export XDG_STATE_HOME=$HOME/dtlaunch");
}

std::string runtime_problem() {
  try {
    runtime_folder();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::string taken_runtime_folder() {
  const std::string path = own_folder_in_tmp();
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || is_private_folder(path)) return {};
  return path + ": " + why_not_private(path);
}

std::string runtime_subfolder(const std::string& name) {
  const std::string path = runtime_folder() + "/" + name;
  make_private_folder(path);
  return path;
}

std::string state_folder() {
  const std::string state = own_state();
  // Without a home, no place survives a reboot.
  return state.empty() ? own_folder_in_tmp() + "/kept" : state;
}

std::vector<std::string> runtime_folders() {
  std::vector<std::string> folders = runtime_places();
  std::erase_if(folders, [](const std::string& path) { return !is_private_folder(path); });
  std::vector<std::string> once;
  for (const std::string& folder : folders) {
    if (std::find(once.begin(), once.end(), folder) == once.end()) once.push_back(folder);
  }
  return once;
}

std::string holder_socket(const std::string& job) {
  std::string name(kHolder);
  if (!job.empty()) name += "-" + job;
  // The job number comes from a scheduler's variable, and must not contain a slash.
  std::replace(name.begin(), name.end(), '/', '_');
  return name + std::string(kSocket);
}

std::vector<std::string> holder_sockets() {
  std::vector<std::string> found;
  std::error_code failed;
  for (const std::string& folder : runtime_folders()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename().string();
      const bool is_one = name == holder_socket() || name.starts_with(std::string(kHolder) + "-");
      if (is_one && name.ends_with(kSocket)) found.push_back(entry.path().string());
    }
  }
  return found;
}

}  // namespace dtl
