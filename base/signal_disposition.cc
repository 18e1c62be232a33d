// sigaction(2) without a new action changes nothing.
#include "base/signal_disposition.h"

#include <csignal>

namespace dtl {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace dtl
