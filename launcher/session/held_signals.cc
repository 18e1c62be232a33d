// Blocked signals stay pending, and sigtimedwait(2) takes them without a handler.
#include "launcher/session/held_signals.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "launcher/session/session.h"

namespace dtl {

using namespace std::chrono_literals;

HeldSignals::HeldSignals() {
  ::sigemptyset(&signals_);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    // nohup ignores SIGHUP, and a shell without job control ignores SIGINT for background jobs. If
    // they were blocked, the kernel would queue them although they are ignored.
    if (!is_ignored(signal)) ::sigaddset(&signals_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &signals_, &before_);
}

HeldSignals::~HeldSignals() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> HeldSignals::wait_until(std::chrono::steady_clock::time_point end) const {
  for (;;) {
    const auto left =
        std::max<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now(), 0ns);
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timespec time{static_cast<std::time_t>(whole.count()),
                        static_cast<long>((left - whole).count())};
    const int signal = ::sigtimedwait(&signals_, nullptr, &time);
    if (signal > 0) return signal;
    // EAGAIN: the time is over. EINTR: a stop and SIGCONT, or another signal.
    if (errno != EINTR) return std::nullopt;
  }
}

}  // namespace dtl
