// Finds `dtlaunch up` processes whose folder was removed while they ran, such as /run/user/UID at
// logout. Searches /proc, since nothing else leads to them.
#include "base/machine/lost_holders.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/machine/process_handle.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::chrono::milliseconds kMoment(1000);  // an idle one ends within 10 ms

std::string proc_file(pid_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether this user started the process as `dtlaunch up` in this container. The background process
// leads its session, as it has left its terminal; the `dtlaunch up` in the foreground does not.
bool is_holder(pid_t pid) {
  struct stat status {};
  const std::string folder = "/proc/" + std::to_string(pid);
  if (::stat(folder.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  if (::getsid(pid) != pid || proc_file(pid, "comm") != "dtlaunch\n") return false;
  const auto words = split(proc_file(pid, "cmdline"), '\0');
  if (words.size() < 2 || words[1] != "up") return false;
  std::error_code failed;  // processes of other containers are not ours
  const auto theirs = std::filesystem::read_symlink(folder + "/ns/pid", failed);
  return theirs == std::filesystem::read_symlink("/proc/self/ns/pid", failed);
}

// Those that answer at a socket: launchers can find them, so they are not lost.
std::set<pid_t> reachable_holders() {
  std::set<pid_t> found;
  for (const std::string& path : holder_sockets()) {
    const Fd socket = connect_unix(path);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (socket.valid() && ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
      found.insert(peer.pid);
    }
  }
  return found;
}

bool ends(const ProcessHandle& process) {
  process.signal(SIGTERM);
  return process.ends_within(kMoment);
}

}  // namespace

std::vector<LostHolder> end_lost_holders() {
  const std::set<pid_t> reachable = reachable_holders();
  std::vector<LostHolder> ended;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const auto number =
        parse_integer(entry.path().filename().string(), 2, std::numeric_limits<pid_t>::max());
    if (!number) continue;
    const pid_t pid = static_cast<pid_t>(*number);
    if (pid == ::getpid() || reachable.contains(pid) || !is_holder(pid)) continue;
    const ProcessHandle process(pid);
    // Checked again, now that the pid cannot pass to another process.
    if (process.valid() && is_holder(pid)) ended.push_back({pid, ends(process)});
  }
  return ended;
}

}  // namespace dtl
