// A pidfd always refers to the same process. Without one, the start time distinguishes it from a
// later process with the same pid; a short race remains.
#include "base/machine/process_handle.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(20);  // polling interval without a pidfd

Fd open_pidfd(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// Closes `end` when the child has ended or was reaped. WNOWAIT does not reap the child.
void await_child(pid_t child, Fd end) {
  siginfo_t status{};
  while (::waitid(P_PID, static_cast<id_t>(child), &status, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  end.reset();
}

void start_waiter(pid_t child, Fd end) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // other threads handle signals
  try {
    // Detached: it ends with the child.
    std::thread(await_child, child, std::move(end)).detach();
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(Exit::kOs, "cannot watch a child process", error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

ProcessHandle::ProcessHandle(pid_t pid) : id_(identify(pid)), pidfd_(open_pidfd(pid)) {}

ProcessHandle::ProcessHandle(const ProcessId& id) {
  // Opened before the check: if the process still runs afterwards, the pidfd refers to it.
  Fd pidfd = open_pidfd(id.pid);
  if (!is_running(id)) return;
  id_ = id;
  pidfd_ = std::move(pidfd);
}

bool ProcessHandle::signal(int number) const {
  if (pidfd_.valid()) {
    if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0) return true;
    if (errno == ESRCH) return false;
  }
  // EPERM or a seccomp filter leads here too. A short race remains between the two calls.
  return is_running(id_) && ::kill(id_.pid, number) == 0;
}

bool ProcessHandle::ends_within(std::chrono::milliseconds patience) const {
  const auto until = Clock::now() + patience;
  for (;;) {
    const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()),
                               std::chrono::milliseconds(0));
    pollfd ended{pidfd_.get(), POLLIN, 0};
    if (pidfd_.valid() && ::poll(&ended, 1, static_cast<int>(left.count())) > 0) return true;
    if (!pidfd_.valid() && !is_running(id_)) return true;
    if (left.count() == 0) return false;
    if (!pidfd_.valid()) std::this_thread::sleep_for(std::min(left, kLook));
  }
}

Fd watch_process(pid_t process) {
  return open_pidfd(process);
}

Error fork_error(const std::string& attempted) {
  const int number = errno;
  return Error(Exit::kOs, attempted, errno_text(number), limit_command(number));
}

Fd watch_child(pid_t child) {
  Fd pidfd = open_pidfd(child);
  if (pidfd.valid()) return pidfd;
  Pipe pipe = make_pipe();
  start_waiter(child, std::move(pipe.write_end));
  return std::move(pipe.read_end);
}

}  // namespace dtl
