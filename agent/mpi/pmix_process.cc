// Signals to the agent's group, or to all processes of a scheduler's step, must not end it before
// the ranks: it has a session of its own and starts with these signals blocked. The end of its
// connection ends it, and then SIGKILL.
#include "agent/mpi/pmix_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr int kPmixLinkFd = 3;  // as dtpmix expects it

// This process's own. With DTLAUNCH_JOB, dtpmix of a killed job is found like its ranks.
std::vector<std::string> pmix_environment(const PmixHome& home) {
  std::vector<std::string> variables = {"DTLAUNCH_JOB=" + home.job_id};
  std::string library_path = home.libraries;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (variable.starts_with("DTLAUNCH_JOB=")) continue;
    constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH=";
    if (!home.libraries.empty() && variable.starts_with(kLibraryPath)) {
      library_path += ":" + std::string(variable.substr(kLibraryPath.size()));
      continue;
    }
    variables.emplace_back(variable);
  }
  if (!library_path.empty()) variables.push_back("LD_LIBRARY_PATH=" + library_path);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns errno.
int spawn_pmix(std::vector<std::string> arguments, std::vector<std::string> environment, int link,
               int output, pid_t& pid) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  // Last: `output` may have this number.
  ::posix_spawn_file_actions_adddup2(&files, link, kPmixLinkFd);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    ::sigaddset(&blocked, signal);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  ::posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID));
  const int failed = ::posix_spawn(&pid, arguments[0].c_str(), &files, &attributes,
                                   pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return failed;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "was killed by " + signal_name(WTERMSIG(status));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

void remove_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

PmixProcess::PmixProcess(const PmixHome& home) {
  // With the pid: a host may be in the hostfile twice. Short, for the paths of sockets inside.
  const std::string name = "pmix-" + home.job_id + "-" + std::to_string(::getpid());
  folder_ = runtime_subfolder(name);
  try {
    remove_folder(folder_);  // a killed agent with this pid may have left files there
    make_private_folder(folder_);
    start(home);
  } catch (const Error&) {
    remove_folder(folder_);
    throw;
  }
}

void PmixProcess::start(const PmixHome& home) {
  const std::string program = home.own_folder + "/dtpmix";
  if (::access(program.c_str(), X_OK) != 0) throw system_error(program + ": cannot start");
  SocketPair link = make_socketpair(SOCK_STREAM);
  Pipe output = make_pipe();
  errno = spawn_pmix({program, "--serve", folder_}, pmix_environment(home), link.second.get(),
                     output.write_end.get(), pid_);
  if (errno != 0) throw fork_error(program + ": cannot start");
  handle_ = ProcessHandle(pid_);
  link_ = std::move(link.first);
  output_ = std::move(output.read_end);
}

std::string PmixProcess::await_end(std::chrono::milliseconds patience) {
  if (pid_ == 0 || !handle_.ends_within(patience)) return ending_;
  int status = 0;
  // The agent's last act may have reaped it: end_descendants().
  const bool reaped = ::waitpid(pid_, &status, 0) == pid_;
  pid_ = 0;
  ending_ = reaped ? how_it_ended(status) : "has ended";
  return ending_;
}

PmixProcess::~PmixProcess() {
  // It has been told by the end of its connection, and only has to remove its files.
  if (await_end(kDrainDeadline).empty()) {
    kill();
    await_end(kReapDeadline);
  }
  remove_folder(folder_);
}

}  // namespace dtl
