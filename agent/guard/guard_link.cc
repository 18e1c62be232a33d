// SOCK_SEQPACKET keeps requests whole and passes descriptors with them, so no framing is needed. A
// full link delays the queue, never the agent.
#include "agent/guard/guard_link.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/machine/descriptor_limit.h"
#include "base/machine/process_handle.h"

namespace dtl {
namespace {

awaitable<void> wait_for(asio::posix::stream_descriptor& link,
                         asio::posix::descriptor_base::wait_type what) {
  boost::system::error_code error;
  co_await link.async_wait(what, asio::redirect_error(asio::use_awaitable, error));
}

// posix_spawn(3), unlike fork(2), does not copy our address space, which would take as long as the
// rest of the start. Returns errno.
int spawn_guard(const std::string& program, int link, int null, pid_t& pid) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, null, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, null, STDOUT_FILENO);
  // If the link already has that number, this only clears its close-on-exec flag.
  ::posix_spawn_file_actions_adddup2(&files, link, kGuardLinkFd);
  char name[] = "dtguard";
  char* const arguments[] = {name, nullptr};
  const int failed = ::posix_spawn(&pid, program.c_str(), &files, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&files);
  return failed;
}

// Call it after starting the guard: ranks inherit the guard's limits, which are the user's.
void set_own_limits() {
  raise_descriptor_limit();
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the job's secret is in our memory
}

}  // namespace

StartedGuard start_guard(const std::string& own_folder) {
  const std::string program = own_folder + "/dtguard";
  if (::access(program.c_str(), X_OK) != 0) throw system_error(program + ": cannot start");
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) throw system_error("/dev/null: cannot open");
  SocketPair pair = make_socketpair(SOCK_SEQPACKET);
  StartedGuard guard;
  errno = spawn_guard(program, pair.second.get(), null.get(), guard.process);
  if (errno != 0) throw fork_error(program + ": cannot start");
  set_own_limits();
  set_nonblocking(pair.first.get());
  guard.link = std::move(pair.first);
  return guard;
}

GuardLink::GuardLink(asio::io_context& context)
    : link_(context), wake_(context, asio::steady_timer::time_point::max()) {}

void GuardLink::open(Fd link) {
  link_.assign(link.release());
}

void GuardLink::close() {
  boost::system::error_code ignored;
  link_.close(ignored);
}

void GuardLink::spawn(std::uint32_t rank, OpenSpawnFiles open) {
  push({GuardOrder::kSpawn, rank, 0}, std::move(open));
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
  // A guard that is busy killing reads nothing; one queued tick is enough.
  if (queue_.empty()) push({GuardOrder::kTick, 0, 0});
}

void GuardLink::wait_for_agent() {
  push({GuardOrder::kWait, 0, 0});
}

void GuardLink::push(GuardRequest request, OpenSpawnFiles open) {
  queue_.push_back({request, std::move(open), {}});
  wake_.cancel();
}

// Opens the files of a spawn, once; false if the request must not be sent.
bool GuardLink::open_front() {
  Queued& front = queue_.front();
  if (!front.open) return true;
  // Moved out first, as a full link makes send_front() call this again.
  const OpenSpawnFiles open = std::exchange(front.open, nullptr);
  front.files = open();  // may push further requests
  return front.files.has_value();
}

// False if the link is full. It also counts as full if too many of this user's descriptors are in
// flight in sockets (ETOOMANYREFS), until the guard has received some.
bool GuardLink::send_front() {
  if (!open_front()) {
    queue_.pop_front();
    return true;
  }
  Queued& front = queue_.front();
  iovec buffer{&front.request, sizeof front.request};
  // The kernel requires the control buffer to be aligned like a cmsghdr.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kSpawnFds)] = {};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  if (front.files) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;  // until the number of descriptors is known
    cmsghdr* attached = CMSG_FIRSTHDR(&message);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    int fds[kSpawnFds];
    std::size_t count = 0;
    front.request.attached = 0;
    for (std::size_t i = 0; i < kSpawnFds; ++i) {
      if (!(*front.files)[i].valid()) continue;
      front.request.attached |= 1U << i;
      fds[count++] = (*front.files)[i].get();
    }
    attached->cmsg_len = CMSG_LEN(sizeof(int) * count);
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    std::memcpy(CMSG_DATA(attached), fds, sizeof(int) * count);
  }
  const ssize_t n = ::sendmsg(link_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS)) return false;
  if (n < 0) gone_ = true;  // receive() reports it
  // Closes its descriptors; the message has its own copies.
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
    } else {
      // Opening the files of many ranks takes time; everything else gets its turn in between.
      co_await asio::post(asio::use_awaitable);
    }
  }
}

awaitable<std::optional<GuardReport>> GuardLink::receive() {
  for (;;) {
    GuardReport report;
    const ssize_t n = ::recv(link_.native_handle(), &report, sizeof report, MSG_DONTWAIT);
    // A shorter record or the end: the guard is gone, or the peer is not ours.
    if (n == static_cast<ssize_t>(sizeof report)) co_return report;
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) co_return std::nullopt;
    co_await wait_for(link_, asio::posix::descriptor_base::wait_read);
  }
}

}  // namespace dtl
