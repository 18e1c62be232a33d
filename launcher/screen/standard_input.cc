#include "launcher/screen/standard_input.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/limits.h"

namespace dtl {
namespace {

constexpr std::size_t kReadBytes = 32 << 10;

// Asio would make a descriptor that it watches non-blocking, and with it the terminal of the shell.
// It may do that to an epoll descriptor, which is readable when the one inside is.
std::unique_ptr<asio::posix::stream_descriptor> watch(asio::io_context& context, int fd) {
  Fd poll_set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(poll_set.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return nullptr;  // EPERM: a file, or a device such as /dev/null
  }
  return std::make_unique<asio::posix::stream_descriptor>(context, poll_set.release());
}

}  // namespace

StandardInput::StandardInput(asio::io_context& context, int fd, std::function<void(Stdin)> send)
    : fd_(fd), send_(std::move(send)), wake_(context), watched_(watch(context, fd)) {}

StandardInput::~StandardInput() = default;

awaitable<void> StandardInput::run() {
  std::string buffer(kReadBytes, '\0');
  for (;;) {
    if (!co_await wait_readable()) co_return;
    const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    Stdin message;
    message.end = n <= 0;  // an input that cannot be read has ended
    if (n > 0) message.bytes.assign(buffer.data(), static_cast<std::size_t>(n));
    on_the_way_ += message.bytes.size();
    bytes_read_ += message.bytes.size();
    const bool end = message.end;
    send_(std::move(message));
    if (end) co_return;
  }
}

// False after stop().
awaitable<bool> StandardInput::wait_readable() {
  while (!stopped_) {
    if (on_the_way_ + kReadBytes > kStdinWindow) {
      co_await wait_until_woken(std::chrono::steady_clock::time_point::max());
      continue;
    }
    if (!in_foreground()) {  // nobody tells when that changes
      co_await wait_until_woken(std::chrono::steady_clock::now() + kHeartbeat);
      continue;
    }
    if (!watched_) co_return true;
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, 0) > 0) co_return true;
    boost::system::error_code cancelled;
    co_await watched_->async_wait(asio::posix::descriptor_base::wait_read,
                                  asio::redirect_error(asio::use_awaitable, cancelled));
  }
  co_return false;
}

awaitable<void> StandardInput::wait_until_woken(std::chrono::steady_clock::time_point when) {
  wake_.expires_at(when);
  boost::system::error_code woken;
  co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

bool StandardInput::in_foreground() const {
  if (::isatty(fd_) == 0) return true;
  const pid_t owner = ::tcgetpgrp(fd_);
  return owner < 0 || owner == ::getpgrp();  // < 0: not our terminal, so it has no background
}

void StandardInput::taken(std::size_t bytes) {
  on_the_way_ -= std::min(bytes, on_the_way_);
  wake_.cancel();
}

void StandardInput::stop() {
  stopped_ = true;
  wake_.cancel();
  if (watched_) watched_->cancel();
}

}  // namespace dtl
