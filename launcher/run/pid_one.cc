// The parent blocks all signals and takes them with sigwaitinfo(2), which needs no handlers and
// loses no signal between two calls.
#include "launcher/run/pid_one.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/machine/process_handle.h"

namespace dtl {
namespace {

// The child's exit status once it has ended; -1: it runs.
int reap_all(pid_t child) {
  int result = -1, status = 0;
  for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != child) continue;
    // A container's status cannot hold a signal, so a killed child is reported as in shells.
    result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return result;
}

[[noreturn]] void be_init(pid_t child, const sigset_t& signals) {
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      if (const int status = reap_all(child); status >= 0) ::_exit(status);
    } else if (signal > 0 && info.si_code != SI_KERNEL) {  // a terminal's ^C reaches the child too
      ::kill(child, signal);
    }
  }
}

}  // namespace

void leave_init_behind() {
  if (::getpid() != 1) return;
  sigset_t signals, before;
  ::sigfillset(&signals);
  // Its own faults, and signals for background processes on a terminal.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTTIN, SIGTTOU, SIGTSTP}) {
    ::sigdelset(&signals, signal);
  }
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t child = ::fork();
  if (child < 0) throw fork_error("cannot fork");
  // The child gets the mask with which this process was started.
  if (child > 0) be_init(child, signals);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace dtl
