// dtguard: starts, watches and ends the ranks of one node for dtagent. One thread, no allocation,
// own session, subreaper: all processes that the ranks start stay below it. When dtagent vanishes,
// it kills everything and exits. See dtagent(8).

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "agent/guard/guard_protocol.h"
#include "agent/guard/guard_ranks.h"
#include "agent/guard/guard_state.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "base/limits.h"
#include "base/machine/close_from.h"
#include "base/machine/descriptor_limit.h"
#include "base/signal_disposition.h"

namespace dtl {
namespace {

constexpr int kPollMs = 1000;  // how often to check the lease
constexpr std::int64_t kGuardLeaseMs = std::chrono::milliseconds(kGuardLease).count();

struct Guard {
  GuardState state = GuardState::kServing;
  int signals = -1;
  std::int64_t heard_ms = 0;  // time of the last request
  bool waits = false;         // for an agent that is not stopped
  // Flags, not a queue: one answer serves for several.
  bool clean_untold = false, alive_untold = false;
  KillCount count;
};

// Somebody typed `dtguard`: without the agent's link there is nothing to do.
[[noreturn]] void refuse_to_start() {
  constexpr char kText[] = "dtguard: only dtagent starts it. Try: dtagent --help\n";
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(64);
}

// Reads signals from a descriptor, so that one poll(2) waits for everything and no handler
// interrupts it. Ignored signals stay ignored: with --unsignalled a scheduler's signals are not for
// the guard.
int open_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    if (!is_ignored(number)) ::sigaddset(&set, number);
  }
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void set_up(Guard& guard) {
  int type = 0;
  socklen_t size = sizeof type;
  // The descriptor may be anything, so check its type.
  if (::getsockopt(kGuardLinkFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      type != SOCK_SEQPACKET) {
    refuse_to_start();
  }
  ::fcntl(kGuardLinkFd, F_SETFD, FD_CLOEXEC);
  close_from(kGuardLinkFd + 1);
  // So that no signal from a terminal or to the agent's group reaches it.
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  raise_descriptor_limit(2 * kMaxLocalRanks);  // a pipe for each starting rank
  guard.signals = open_signals();
  guard.heard_ms = boot_time_ms();
}

void act(Guard& guard, GuardEvent event, const GuardRequest& request, const int* fds) {
  const GuardStep next = guard_step(guard.state, event);
  guard.state = next.state;
  switch (next.action) {
    case GuardAction::kSpawn:
      ranks::start(request.rank, fds);
      break;
    case GuardAction::kRefuse:
      ranks::refuse(request.rank, fds, ECANCELED);
      break;
    case GuardAction::kSignal:
      ranks::signal_all(static_cast<int>(request.signal), request.order == GuardOrder::kSignal);
      break;
    case GuardAction::kEndAndTell: {
      const KillCount count = ranks::end_all();
      // A second Kill only adds: earlier kills cannot be counted again.
      guard.count = {guard.count.killed + count.killed, count.unkillable};
      guard.clean_untold = true;
      break;
    }
    case GuardAction::kEndAndExit:
      ranks::end_all();
      // Nobody is left to report to.
      ::_exit(0);
    case GuardAction::kNothing:
      break;
  }
}

// Closes what came with a message whose other descriptors are lost: without that, a guard that has
// no room for descriptors would have less with each request.
void close_attached(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      ::close(fd);
    }
  }
}

// False if not exactly the descriptors came that `which` names. MSG_CTRUNC means that some were
// lost; the rest are useless.
bool take_descriptors(msghdr& message, std::uint32_t which, int (&fds)[kSpawnFds]) {
  const cmsghdr* attached = CMSG_FIRSTHDR(&message);
  const auto count = static_cast<std::size_t>(std::popcount(which));
  if (attached == nullptr || attached->cmsg_type != SCM_RIGHTS || which >> kSpawnFds != 0 ||
      attached->cmsg_len != CMSG_LEN(count * sizeof(int)) ||
      (message.msg_flags & MSG_CTRUNC) != 0) {
    return false;
  }
  const unsigned char* at = CMSG_DATA(attached);
  for (int i = 0; i < kSpawnFds; ++i) {
    if ((which >> i & 1) == 0) continue;
    std::memcpy(&fds[i], at, sizeof(int));
    at += sizeof(int);
  }
  return true;
}

// Handles one request; false if none waits. The end of the link is an event too.
bool take_request(Guard& guard) {
  GuardRequest request;
  iovec buffer{&request, sizeof request};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kSpawnFds)];
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(kGuardLinkFd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // The agent is gone. act() does not return.
  if (n != static_cast<ssize_t>(sizeof request)) {
    act(guard, GuardEvent::kOrphaned, request, nullptr);
  }
  guard.heard_ms = boot_time_ms();
  int fds[kSpawnFds];
  for (int& fd : fds) fd = -1;  // fails when the specification is mapped
  if (!take_descriptors(message, request.attached, fds)) close_attached(message);
  switch (request.order) {
    case GuardOrder::kSpawn:
      act(guard, GuardEvent::kSpawnRequest, request, fds);
      break;
    case GuardOrder::kSignal:
    case GuardOrder::kPass:
      act(guard, GuardEvent::kSignalRequest, request, nullptr);
      break;
    case GuardOrder::kKill:
      act(guard, GuardEvent::kKillRequest, request, nullptr);
      break;
    case GuardOrder::kTick:
      guard.alive_untold = true;
      break;
    case GuardOrder::kWait:
      guard.waits = true;
      break;
  }
  return true;
}

void take_signals(Guard& guard) {
  signalfd_siginfo info;
  while (::read(guard.signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    // A signal asks the guard to exit; first it must end the ranks.
    if (info.ssi_signo != SIGCHLD) act(guard, GuardEvent::kOrphaned, {}, nullptr);
  }
  // One SIGCHLD may stand for several children, so look for all of them.
  ranks::reap();
}

// Sends reports until none is left or the link is full; true if none is left.
bool send_reports(Guard& guard) {
  for (;;) {
    GuardReport report;
    const bool about_rank = ranks::next_report(report);
    // kClean first: the agent waits for it. It also shows that the guard is alive, as kAlive does.
    bool& untold = guard.clean_untold ? guard.clean_untold : guard.alive_untold;
    if (!about_rank && !untold) return true;
    if (!about_rank) {
      report.news = guard.clean_untold ? GuardNews::kClean : GuardNews::kAlive;
      report.killed = guard.count.killed;
      report.unkillable = guard.count.unkillable;
    }
    // Never waits: a stopped agent must not keep the guard from checking the lease.
    if (::send(kGuardLinkFd, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      return false;  // full; or closed, which the next read reports
    }
    if (about_rank) {
      ranks::told();
    } else {
      untold = false;
    }
  }
}

[[noreturn]] void serve(Guard& guard) {
  static pollfd polls[kMaxLocalRanks + 2];
  bool all_told = true;
  for (;;) {
    // POLLOUT only while reports wait: otherwise a link with room would end every poll(2) at once.
    polls[0] = {kGuardLinkFd, static_cast<short>(all_told ? POLLIN : POLLIN | POLLOUT), 0};
    polls[1] = {guard.signals, POLLIN, 0};
    // Only starting ranks have a pipe here; SIGCHLD reports the end of running ones.
    const unsigned starting = ranks::add_polls(polls + 2);
    ::poll(polls, starting + 2, kPollMs);
    ranks::read_error_pipes(polls + 2, starting);
    if (polls[1].revents != 0) take_signals(guard);
    if (polls[0].revents != 0) {
      while (take_request(guard)) {
      }
    }
    // After reading the requests: a guard without CPU time must not blame the agent.
    if (boot_time_ms() - guard.heard_ms > kGuardLeaseMs && !(guard.waits && can_run(::getppid()))) {
      act(guard, GuardEvent::kOrphaned, {}, nullptr);
    }
    all_told = send_reports(guard);
  }
}

}  // namespace
}  // namespace dtl

int main() {
  dtl::Guard guard;
  dtl::set_up(guard);
  dtl::serve(guard);
}
