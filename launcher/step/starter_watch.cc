#include "launcher/step/srun_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kProgress = 10s;  // between two lines about a wait

}  // namespace

SrunWatch::SrunWatch(Child srun, std::function<void(const std::string&)> ended,
                     std::function<std::string()> missing)
    : srun_(std::move(srun)),
      ended_(std::move(ended)),
      missing_(std::move(missing)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_.valid()) throw system_error("cannot make an eventfd");
  set_nonblocking(srun_.standard_error.get());
  set_nonblocking(srun_.socket.get());
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a signal is for the threads that know of it
  thread_ = std::thread([this] { watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SrunWatch::~SrunWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

std::string SrunWatch::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

std::string SrunWatch::words() const {
  const std::lock_guard lock(mutex_);
  return tail_.text();
}

bool SrunWatch::wait_for_end(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return gone_.wait_for(lock, patience, [this] { return !ending_.empty(); });
}

void SrunWatch::signal(int number) {
  ::syscall(SYS_pidfd_send_signal, srun_.process.get(), number, nullptr, 0);
}

void SrunWatch::watch() {
  const Clock::time_point began = Clock::now();
  Clock::time_point next_line = began + kProgress;
  bool waits = true, talks = true, prints = true;
  for (;;) {
    pollfd each[] = {{stop_.get(), POLLIN, 0},
                     {srun_.process.get(), POLLIN, 0},
                     {talks ? srun_.standard_error.get() : -1, POLLIN, 0},
                     {prints ? srun_.socket.get() : -1, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_line - Clock::now());
    ::poll(each, 4, waits ? static_cast<int>(std::max<std::int64_t>(left.count(), 0)) : -1);
    if (each[0].revents != 0) return;
    if (each[2].revents != 0) talks = read_words(srun_.standard_error.get());
    if (each[3].revents != 0) prints = read_words(srun_.socket.get());
    if (each[1].revents != 0) break;
    if (!waits || Clock::now() < next_line) continue;
    next_line += kProgress;
    const std::string missing = missing_();
    waits = !missing.empty();
    if (!waits) continue;
    const std::string said = last_line(words());
    log_notice(fmt::format("waiting for srun to bring dtlaunch to {} since {} s{}", missing,
                           (Clock::now() - began) / 1s,
                           said.empty() ? "" : fmt::format("; it says \"{}\"", said)));
  }
  while (talks && read_words(srun_.standard_error.get())) {
    pollfd more{srun_.standard_error.get(), POLLIN, 0};
    if (::poll(&more, 1, 0) <= 0) break;
  }
  std::string how = srun_.ending();
  {
    const std::lock_guard lock(mutex_);
    ending_ = how;
    gone_.notify_all();
  }
  ended_(how);
}

// False: nothing more will come.
bool SrunWatch::read_words(int fd) {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  const std::string_view text(bytes.data(), static_cast<std::size_t>(count));
  {
    const std::lock_guard lock(mutex_);
    tail_.append(text);
  }
  line_ += text;
  for (std::size_t end = line_.find('\n'); end != line_.npos; end = line_.find('\n')) {
    log_verbose(printable(line_.substr(0, end)));
    line_.erase(0, end + 1);
  }
  return true;
}

}  // namespace dtl
