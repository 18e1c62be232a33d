#include "agent/guard_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

awaitable<void> wait_for(asio::posix::stream_descriptor& link,
                         asio::posix::descriptor_base::wait_type what) {
  boost::system::error_code error;
  co_await link.async_wait(what, asio::redirect_error(asio::use_awaitable, error));
}

[[noreturn]] void become_guard(int link, int null, const char* program) {
  // The link's number may be the target; dup2 would then leave close-on-exec set.
  if (::dup2(null, 0) < 0 || ::dup2(null, 1) < 0) ::_exit(127);
  if (link == kGuardLinkFd) {
    ::fcntl(link, F_SETFD, 0);
  } else if (::dup2(link, kGuardLinkFd) < 0) {
    ::_exit(127);
  }
  ::execl(program, "dtguard", static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

Fd start_guard(const std::string& own_folder) {
  const std::string program = own_folder + "/dtguard";
  if (::access(program.c_str(), X_OK) != 0) throw system_error("cannot start '" + program + "'");
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) throw system_error("cannot open /dev/null");
  SocketPair pair = make_socketpair(SOCK_SEQPACKET);
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error("cannot start '" + program + "'");
  if (pid == 0) become_guard(pair.second.get(), null.get(), program.c_str());
  set_nonblocking(pair.first.get());
  return std::move(pair.first);
}

GuardLink::GuardLink(asio::io_context& context, Fd link)
    : link_(context, link.release()), wake_(context, asio::steady_timer::time_point::max()) {}

void GuardLink::spawn(std::uint32_t rank, SpawnFiles files) {
  push({GuardOrder::kSpawn, rank, 0}, std::move(files));
}
void GuardLink::signal_ranks(int signal) {
  push({GuardOrder::kSignal, 0, static_cast<std::uint32_t>(signal)});
}
void GuardLink::pass_signal(int signal) {
  push({GuardOrder::kPass, 0, static_cast<std::uint32_t>(signal)});
}
void GuardLink::kill() {
  push({GuardOrder::kKill, 0, 0});
}
void GuardLink::tick() {
  // A guard that is busy killing needs no more than one.
  if (queue_.empty()) push({GuardOrder::kTick, 0, 0});
}

void GuardLink::push(GuardRequest request, SpawnFiles files) {
  queue_.push_back({request, std::move(files)});
  wake_.cancel();
}

// False when the link is full.
bool GuardLink::send_front() {
  Queued& front = queue_.front();
  iovec buffer{&front.request, sizeof front.request};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kSpawnFds)] = {};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  if (front.request.order == GuardOrder::kSpawn) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* attached = CMSG_FIRSTHDR(&message);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof(int) * kSpawnFds);
    int fds[kSpawnFds];
    for (std::size_t i = 0; i < kSpawnFds; ++i) fds[i] = front.files[i].get();
    std::memcpy(CMSG_DATA(attached), fds, sizeof fds);
  }
  const ssize_t n = ::sendmsg(link_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS)) return false;
  if (n < 0) gone_ = true;  // receive() tells
  queue_.pop_front();
  return true;
}

awaitable<void> GuardLink::run_writer() {
  while (!gone_) {
    if (queue_.empty()) {
      boost::system::error_code woken;
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    } else if (!send_front()) {
      co_await wait_for(link_, asio::posix::descriptor_base::wait_write);
    }
  }
}

awaitable<std::optional<GuardReport>> GuardLink::receive() {
  for (;;) {
    GuardReport report;
    const ssize_t n = ::recv(link_.native_handle(), &report, sizeof report, MSG_DONTWAIT);
    if (n == static_cast<ssize_t>(sizeof report)) co_return report;
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) co_return std::nullopt;
    co_await wait_for(link_, asio::posix::descriptor_base::wait_read);
  }
}

}  // namespace dtl
