// All signals are blocked in the parent and taken by sigwaitinfo(2): it needs no handlers, and
// loses no signal between two calls.
#include "launcher/run/pid_one.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"

namespace dtl {
namespace {

// The child's exit status, once it is known; -1: it runs.
int reap_all(pid_t child) {
  int result = -1, status = 0;
  for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != child) continue;
    // A container's status has no signal in it, so a killed child is told as shells tell it.
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
    } else if (signal > 0 && info.si_code != SI_KERNEL) {  // a terminal's ^C reaches the child, too
      ::kill(child, signal);
    }
  }
}

}  // namespace

void leave_init_behind() {
  if (::getpid() != 1) return;
  sigset_t signals, before;
  ::sigfillset(&signals);
  // Faults of its own; and what a terminal does to those who write from the background.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTTIN, SIGTTOU, SIGTSTP}) {
    ::sigdelset(&signals, signal);
  }
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t child = ::fork();
  if (child < 0) throw system_error("cannot fork");
  // The child begins with the mask that this process was started with.
  if (child > 0) be_init(child, signals);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace dtl
