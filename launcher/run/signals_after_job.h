#pragma once
// SignalsAfterJob: handles the signals that end a job after it has ended. A second ^C must neither
// change the report nor delay dtlaunch. Only one at a time: the status is static, for the handler.

#include <unistd.h>

#include <csignal>

namespace dtl {

// The constructor blocks them: a signal during the report's writing waits.
class SignalsAfterJob {
 public:
  SignalsAfterJob() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }

  // From here on a signal ends dtlaunch at once with this status: the rest may take time, and
  // changes nothing.
  void leave_with(int status) {
    status_ = status;
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      // nohup ignores SIGHUP, and that must stay.
      if (std::signal(signal, leave) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    ::sigprocmask(SIG_UNBLOCK, &signals_, nullptr);
  }

 private:
  // _exit(2), because a handler must not run the destructors of exit(3).
  static void leave(int) { ::_exit(status_); }

  inline static volatile std::sig_atomic_t status_ = 0;
  sigset_t signals_;
};

}  // namespace dtl
