#pragma once
// SignalsAfterJob: the signals that end a job, once it has ended. A second ^C must then neither
// change the report nor hold dtlaunch up. One at a time: the status is static, for the handler.

#include <unistd.h>

#include <csignal>

namespace dtl {

// Blocks them when it is made: what comes while the report is written waits.
class SignalsAfterJob {
 public:
  SignalsAfterJob() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }

  // From here on they end dtlaunch at once, with this status: what is left to do may take its time,
  // and changes nothing.
  void leave_with(int status) {
    status_ = status;
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      // Under nohup SIGHUP is ignored, and stays so.
      if (std::signal(signal, leave) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    ::sigprocmask(SIG_UNBLOCK, &signals_, nullptr);
  }

 private:
  // _exit(2), as a handler may not run the destructors of exit(3).
  static void leave(int) { ::_exit(status_); }

  inline static volatile std::sig_atomic_t status_ = 0;
  sigset_t signals_;
};

}  // namespace dtl
