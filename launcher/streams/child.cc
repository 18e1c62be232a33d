// posix_spawn(3) instead of fork(2): it is fast whatever dtlaunch's memory, and safe with threads.
#include "launcher/streams/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/machine/descriptor_limit.h"
#include "base/machine/process_handle.h"
#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

struct SpawnFiles {
  SpawnFiles() { ::posix_spawn_file_actions_init(&value); }
  ~SpawnFiles() { ::posix_spawn_file_actions_destroy(&value); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;
  posix_spawn_file_actions_t value;
};

struct SpawnAttributes {
  SpawnAttributes() {
    ::posix_spawnattr_init(&value);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&value, &none);
    // dtlaunch ignores SIGPIPE and others, which exec would pass on.
    ::posix_spawnattr_setsigdefault(&value, &all);
    ::posix_spawnattr_setflags(&value,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t value;
};

// The agent takes SSH_CONNECTION for the connection to its host; ours belongs to the user's login
// here.
std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("SSH_CONNECTION=")) entries.emplace_back(*entry);
  }
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::~Child() {
  if (process.valid()) ending();
}

std::string Child::ending() {
  if (!ending_.empty()) return ending_;
  siginfo_t status{};
  // waitid reaps, and the pid may then belong to another process, so `ending_` is kept.
  if (::waitid(P_PID, static_cast<id_t>(pid), &status, WEXITED | WNOHANG) != 0 ||
      status.si_pid == 0) {
    return {};
  }
  ending_ = status.si_code == CLD_EXITED
                ? fmt::format("exit status {}", status.si_status)
                : fmt::format("killed by {}", signal_name(status.si_status));
  return ending_;
}

void Child::signal(int number) const {
  if (ending_.empty() && pid > 0) ::kill(pid, number);
}

Child spawn_child(const std::vector<std::string>& arguments, ChildErrors errors,
                  const std::optional<std::vector<std::string>>& environment, int input) {
  SocketPair sockets = make_socketpair(SOCK_STREAM);
  Pipe pipe;
  if (errors == ChildErrors::kPiped) pipe = make_pipe();
  SpawnFiles files;
  ::posix_spawn_file_actions_adddup2(&files.value, sockets.second.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files.value, sockets.second.get(), STDOUT_FILENO);
  if (pipe.write_end.valid()) {
    ::posix_spawn_file_actions_adddup2(&files.value, pipe.write_end.get(), STDERR_FILENO);
  }
  Fd handed;  // must not collide with descriptors 0 to 2
  if (input >= 0) {
    handed = Fd(::fcntl(input, F_DUPFD_CLOEXEC, kInputDescriptor + 1));
    if (!handed.valid()) throw system_error("cannot hand on standard input");
    // dup2 clears CLOEXEC only on the new descriptor.
    ::posix_spawn_file_actions_adddup2(&files.value, handed.get(), kInputDescriptor);
  }
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<std::string> entries = environment ? *environment : own_environment();
  const std::vector<char*> envp = pointers_to(entries);
  SpawnAttributes attributes;
  pid_t pid = 0;
  const int failed = [&] {
    // main() raises the limit for dtlaunch itself; programs get the user's limit.
    const UsersDescriptorLimit as_the_user_has_it;
    return ::posix_spawn(&pid, argv[0], &files.value, &attributes.value, argv.data(), envp.data());
  }();
  if (failed != 0) {
    throw Error(Exit::kOs, fmt::format("cannot start {}", arguments[0]), errno_text(failed),
                limit_command(failed));
  }
  Child child;
  child.process = watch_child(pid);
  child.pid = pid;
  child.socket = std::move(sockets.first);
  child.standard_error = std::move(pipe.read_end);
  return child;
}

}  // namespace dtl
