// Handlers only store numbers. SignalVotes acts on them at the end of a step.
#include "trainer/job/stop_signal.h"

#include <atomic>
#include <csignal>

namespace dtl::trainer {
namespace {

volatile std::sig_atomic_t signal_number = 0;  // a handler may only touch these
std::atomic<StopSignal::Clock::rep> signal_time{0};
static_assert(std::atomic<StopSignal::Clock::rep>::is_always_lock_free);

std::atomic<int> checkpoint_wishes{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void count_wish(int) {
  ++checkpoint_wishes;
}

extern "C" void remember(int number) {
  // Set the time before signal_number: a reader that sees a number must find its time. steady_clock
  // uses clock_gettime, which POSIX allows in a handler.
  signal_time = StopSignal::Clock::now().time_since_epoch().count();
  signal_number = number;
}

}  // namespace

StopSignal::StopSignal() {
  signal_number = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  // SA_RESETHAND: a second signal ends the process, for users who do not wait for the checkpoint.
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

StopSignal::Clock::time_point StopSignal::received_at() {
  if (signal_number == 0) return Clock::now();
  return Clock::time_point(Clock::duration(signal_time.load()));
}

// Never undone: a request before training starts is kept.
void CheckpointSignal::listen() {
  struct sigaction action {};
  action.sa_handler = count_wish;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);
}

int CheckpointSignal::count() {
  return checkpoint_wishes;
}

}  // namespace dtl::trainer
