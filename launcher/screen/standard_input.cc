// Three counters: bytes read from the descriptor, bytes in transit to ranks, and bytes that ranks
// have taken. peeked_ counts bytes that were sent but are still in the pipe.
#include "launcher/screen/standard_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

// Asio makes a watched descriptor non-blocking, and the shell's terminal with it. So it watches an
// epoll descriptor instead, which is readable when the one inside is.
std::unique_ptr<asio::posix::stream_descriptor> watch(asio::io_context& context, int fd) {
  Fd poll_set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(poll_set.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return nullptr;  // EPERM: a file, or a device such as /dev/null
  }
  return std::make_unique<asio::posix::stream_descriptor>(context, poll_set.release());
}

bool is_place_in_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ::lseek(fd, 0, SEEK_CUR) >= 0;
}

// Copies a pipe's bytes without removing them.
ssize_t peek_pipe(int fd, char* buffer, std::size_t most) {
  const Pipe copy = make_pipe();
  // tee(2) copies between pipes and keeps the original; pipes have no MSG_PEEK.
  const ssize_t n = ::tee(fd, copy.write_end.get(), most, SPLICE_F_NONBLOCK);
  return n > 0 ? ::read(copy.read_end.get(), buffer, static_cast<std::size_t>(n)) : n;
}

}  // namespace

bool can_be_handed_over(int fd, bool comes_once) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  const bool stream = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  return is_place_in_file(fd) || (stream && comes_once);
}

StandardInput::Source StandardInput::kind_of(int fd) {
  struct stat status {};
  // A descriptor that cannot be examined is treated like a terminal: just read.
  if (::isatty(fd) != 0 || ::fstat(fd, &status) != 0) return Source::kTerminal;
  if (S_ISFIFO(status.st_mode)) return Source::kPipe;
  if (S_ISSOCK(status.st_mode)) return Source::kSocket;
  return is_place_in_file(fd) ? Source::kFile : Source::kDevice;
}

StandardInput::StandardInput(asio::io_context& context, int fd, Ahead ahead,
                             std::function<void(Stdin)> send)
    : fd_(fd),
      ahead_(ahead),
      source_(kind_of(fd)),
      send_(std::move(send)),
      wake_(context),
      watched_(watch(context, fd)) {}

StandardInput::~StandardInput() = default;

awaitable<void> StandardInput::run() {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  for (;;) {
    if (!co_await wait_readable()) co_return;
    const ssize_t n = take(buffer.get(), std::min(kReadBytes, window()));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    Stdin message;
    message.end = n <= 0;  // an input that cannot be read has ended
    if (n > 0) message.bytes.assign(buffer.get(), static_cast<std::size_t>(n));
    on_the_way_ += message.bytes.size();
    const bool end = message.end;
    send_(std::move(message));
    if (end) co_return;
  }
}

std::size_t StandardInput::window() const {
  // Grows with what ranks have taken: a rank that reads one line gets little more than that.
  return ahead_ == Ahead::kWindow ? kStdinWindow : std::clamp(taken_, kFirstStdin, kStdinWindow);
}

ssize_t StandardInput::take(char* buffer, std::size_t most) {
  const bool first = taken_ == 0 && on_the_way_ == 0;
  const bool leave = ahead_ == Ahead::kAsRanksRead && first;
  if (first) most = std::min(most, kFirstStdin);
  if (leave && (source_ == Source::kPipe || source_ == Source::kSocket)) {
    const ssize_t n = peek(buffer, most);
    if (n > 0) peeked_ = static_cast<std::size_t>(n);
    // EINVAL: some pipes cannot be peeked.
    if (n >= 0 || errno != EINVAL) return n;
    source_ = Source::kTerminal;  // like a terminal, it cannot be peeked
  }
  const ssize_t n = ::read(fd_, buffer, most);
  if (n > 0) read_ += static_cast<std::size_t>(n);
  return n;
}

ssize_t StandardInput::peek(char* buffer, std::size_t most) const {
  if (source_ == Source::kSocket) return ::recv(fd_, buffer, most, MSG_PEEK | MSG_DONTWAIT);
  return peek_pipe(fd_, buffer, most);
}

// Another process with this pipe may have read the bytes first.
void StandardInput::read_peeked(std::size_t bytes) {
  char buffer[kFirstStdin];
  pollfd ready{fd_, POLLIN, 0};
  while (bytes > 0 && ::poll(&ready, 1, 0) > 0) {
    const ssize_t n = ::read(fd_, buffer, std::min(bytes, sizeof buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    read_ += static_cast<std::size_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

// False after stop().
awaitable<bool> StandardInput::wait_readable() {
  while (!stopped_) {
    // Wait for room for a whole piece, to avoid many small ones.
    if (on_the_way_ + std::min(kReadBytes, window()) > window()) {
      co_await wait_until_woken(std::chrono::steady_clock::time_point::max());
      continue;
    }
    if (!in_foreground()) {  // no event reports a change of foreground
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
  taken_ += bytes;
  // The ranks have read the bytes left in the pipe, so remove them now.
  if (on_the_way_ == 0) read_peeked(std::exchange(peeked_, 0));
  wake_.cancel();
}

void StandardInput::stop() {
  stopped_ = true;
  wake_.cancel();
  if (watched_) watched_->cancel();
}

std::size_t StandardInput::give_back(std::size_t used) {
  read_peeked(std::min(used, std::exchange(peeked_, 0)));
  const std::size_t unused = read_ - std::min(used, read_);
  // Devices lose nothing: the next reader gets the same.
  if (source_ == Source::kDevice) return 0;  // /dev/zero has more
  if (unused == 0 || source_ != Source::kFile) return unused;
  if (::lseek(fd_, -static_cast<off_t>(unused), SEEK_CUR) < 0) return unused;
  read_ -= unused;
  return 0;
}

}  // namespace dtl
