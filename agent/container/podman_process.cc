// Standard error is a file in memory and not a pipe: conmon inherits it and holds it open.
#include "agent/container/podman_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "agent/container/holder.h"
#include "base/error.h"
#include "base/machine/process_handle.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMostErrors = 4096;

// Returns errno. A session of its own: signals to the agent's group are not for podman.
int spawn_podman(std::vector<std::string>& words, int link, int errors, pid_t& pid) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, link, kHolderLinkFd);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSID));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int failed =
      ::posix_spawnp(&pid, pointers[0], &files, &attributes, pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return failed;
}

// False after `patience`.
awaitable<bool> readable(asio::io_context& context, asio::posix::stream_descriptor& file,
                         std::chrono::milliseconds patience) {
  // The timer's handler may still be queued when this has returned.
  const auto waits = std::make_shared<bool>(true);
  asio::steady_timer timer(context, patience);
  timer.async_wait([&file, waits](boost::system::error_code cancelled) {
    boost::system::error_code ignored;
    if (!cancelled && *waits) file.cancel(ignored);
  });
  boost::system::error_code failed;
  co_await file.async_wait(asio::posix::descriptor_base::wait_read,
                           asio::redirect_error(asio::use_awaitable, failed));
  *waits = false;
  co_return !failed;
}

}  // namespace

PodmanProcess::PodmanProcess(asio::io_context& context, std::vector<std::string> words)
    : context_(context), link_(context), errors_(::memfd_create("dtl-podman", MFD_CLOEXEC)) {
  if (!errors_.valid()) throw system_error("cannot keep the errors of podman");
  SocketPair pair = make_socketpair(SOCK_SEQPACKET);
  errno = spawn_podman(words, pair.second.get(), errors_.get(), pid_);
  if (errno == ENOENT) throw system_error("podman: cannot start");
  if (errno != 0) throw fork_error("podman: cannot start");
  set_nonblocking(pair.first.get());
  link_.assign(pair.first.release());
}

// A podman that has ended meanwhile is reaped with the agent's other children.
PodmanProcess::~PodmanProcess() = default;

awaitable<bool> PodmanProcess::link_ready(std::chrono::milliseconds patience) {
  co_return co_await readable(context_, link_, patience);
}

Fd PodmanProcess::take_link() {
  return Fd(link_.release());
}

awaitable<int> PodmanProcess::end(std::chrono::milliseconds patience) {
  asio::posix::stream_descriptor ended(context_, watch_child(pid_).release());
  if (!co_await readable(context_, ended, patience)) ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(std::exchange(pid_, 0), &status, 0);
  co_return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

std::string PodmanProcess::errors() const {
  std::string text(kMostErrors, '\0');
  const off_t size = ::lseek(errors_.get(), 0, SEEK_END);
  const off_t from =
      size > static_cast<off_t>(kMostErrors) ? size - static_cast<off_t>(kMostErrors) : 0;
  const ssize_t got = ::pread(errors_.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(got > 0 ? got : 0));
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

}  // namespace dtl
