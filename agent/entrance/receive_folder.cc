// A folder of a launcher whose user has another home on this host, say, cannot be at the same path
// here; it goes to the user's cache then.
#include "agent/entrance/receive_folder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "agent/entrance/folder_copy.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/folders/folder_list.h"
#include "base/machine/python_version.h"
#include "base/text.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr int kSilenceMs = 60'000;          // a launcher stopped by ^Z must not keep the lock
constexpr auto kLockPause = 200ms;          // between two tries
constexpr std::size_t kLongestLength = 12;  // digits of the request's length

Error launcher_left(const std::string& why) {
  return Error(Exit::kIo, "cannot read the folder's files", why);
}

void read_input(char* room, std::size_t bytes) {
  while (bytes > 0) {
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kSilenceMs);
    if (ready == 0) throw launcher_left("dtlaunch has sent nothing for 60 s");
    const ssize_t got = ready < 0 ? -1 : ::read(STDIN_FILENO, room, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw launcher_left("dtlaunch left");
    room += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

FolderRequest read_request() {
  std::string length;
  for (char digit = 0; length.size() <= kLongestLength; length += digit) {
    read_input(&digit, 1);
    if (digit == '\n') break;
  }
  const auto bytes = parse_integer(length, 1, kMaxRequestBytes);
  if (!bytes) throw launcher_left("only dtlaunch --sync uses this");
  std::string text(static_cast<std::size_t>(*bytes), '\0');
  read_input(text.data(), text.size());
  return parse_folder_request(text);
}

void answer(const std::string& text) {
  write_all(STDOUT_FILENO, fmt::format("{}{}\n", kSyncMarker, text));
}

// The line that installs it, by where it must be.
std::string install_line(const FolderRequest& request) {
  const auto is_in = [&](std::string_view part) {
    return request.python.find(part) != std::string::npos;
  };
  if (is_in("/uv/python/")) return "uv python install " + request.python_version;
  if (is_in("/.pyenv/versions/")) return "pyenv install " + request.python_version;
  if (!request.python.starts_with("/usr/bin/")) return "ls -l " + one_shell_word(request.python);
  const std::string name = "python" + request.python_version;
  if (::access("/usr/bin/apt-get", X_OK) == 0) return "sudo apt-get install " + name;
  if (::access("/usr/bin/dnf", X_OK) == 0) return "sudo dnf install " + name;
  return "ls -l " + one_shell_word(request.python);
}

// An environment has links to the Python that has made it, and libraries for its version.
void check_python(const FolderRequest& request) {
  if (request.python.empty()) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(Exit::kConfig, printable(request.python), why, install_line(request));
  };
  if (::access(request.python.c_str(), X_OK) != 0) {
    refuse(fmt::format("the environment needs Python {} there", request.python_version));
  }
  const std::string here = python_version(request.python, "");
  if (!here.empty() && here != request.python_version) {
    refuse(fmt::format("it is Python {}, and the environment is for {}", here,
                       request.python_version));
  }
}

std::string cache_folder(const std::string& name) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fmt::format("{}/dtlaunch/{}", cache, name);
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    throw Error(Exit::kConfig, "HOME", "not an absolute path, so the copy has no folder here",
                "echo $HOME");
  }
  return fmt::format("{}/.cache/dtlaunch/{}", home, name);
}

// Whether files can be brought there; makes the folder if it is missing. Private: the original may
// be in a private folder.
bool is_usable(const std::string& root, std::string& why) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(root).parent_path(), failed);
  if (!failed && ::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) {
    failed = std::error_code(errno, std::generic_category());
  }
  struct stat status {};
  if (::stat(root.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    why = failed ? failed.message() : "not a folder";
  } else if ((status.st_mode & S_IWOTH) != 0 && status.st_uid != ::geteuid() &&
             status.st_uid != 0) {
    why = "everybody may write it, and it belongs to another user";
  } else if (::access(root.c_str(), W_OK | X_OK) != 0) {
    why = errno_text(errno);
  } else {
    return true;
  }
  return false;
}

std::string choose_root(const FolderRequest& request) {
  std::string why;
  if (is_usable(request.root, why)) return request.root;
  if (!request.elsewhere.empty()) {
    std::string root = cache_folder(request.elsewhere);
    if (is_usable(root, why)) return root;
  }
  throw Error(Exit::kCannotWrite, printable(request.root) + ": cannot write", why,
              "ls -ld " + one_shell_word(request.root));
}

bool sees_same_folder(const FolderRequest& request) {
  return !request.proof.empty() &&
         ::access((request.root + "/" + request.proof).c_str(), F_OK) == 0;
}

}  // namespace

void receive_folder() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit is an ordinary error
  const FolderRequest request = read_request();
  check_python(request);
  if (sees_same_folder(request)) return answer("same");
  const std::string root = choose_root(request);
  FolderCopy copy(root);
  while (!copy.lock()) {
    answer("at");
    std::this_thread::sleep_for(kLockPause);
  }
  const auto at_work = [] { answer("at"); };
  const std::vector<std::size_t> missing = copy.missing(request.entries, at_work);
  answer("want " + wanted_text(missing));
  for (const std::size_t index : missing) copy.take(request.entries[index], index, read_input);
  copy.put_in_place(request.entries, at_work);
  answer("done " + root);
}

}  // namespace dtl
