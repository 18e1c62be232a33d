#include "trainer/job/stop_signal.h"

#include <csignal>

namespace dtl::trainer {
namespace {

volatile std::sig_atomic_t signal_number = 0;  // a handler reaches nothing else

extern "C" void remember(int number) {
  signal_number = number;
}

}  // namespace

StopSignal::StopSignal() {
  signal_number = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

StopSignal::~StopSignal() {
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
}

int StopSignal::received() {
  return signal_number;
}

}  // namespace dtl::trainer
