#pragma once
// The signals that end a job, once it has ended.

#include <unistd.h>

#include <csignal>

namespace dtl {

// The job is over: a signal changes neither its report nor its status.
class SignalsAfterJob {
 public:
  SignalsAfterJob() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }

  // From here on they end dtlaunch at once, with this status.
  void leave_with(int status) {
    status_ = status;
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      if (std::signal(signal, leave) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    ::sigprocmask(SIG_UNBLOCK, &signals_, nullptr);
  }

 private:
  static void leave(int) { ::_exit(status_); }

  inline static volatile std::sig_atomic_t status_ = 0;
  sigset_t signals_;
};

}  // namespace dtl
