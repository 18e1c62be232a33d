// Asks the kernel by netlink (sock_diag) for the other end of the connection, which is on this
// node: for one socket, however many there are.
#include "agent/pmix/own_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace dtl::pmix {
namespace {

constexpr timeval kKernelPatience{0, 200'000};  // the kernel answers at once

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

struct Answer {
  nlmsghdr head;
  union {
    inet_diag_msg found;
    nlmsgerr failure;
  };
  char details[512];  // unasked
};

Question question_about(const sockaddr_in& peer, const sockaddr_in& here) {
  Question question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = AF_INET;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = ~0U;
  // Its source is the peer's end.
  inet_diag_sockid& id = question.body.id;
  id.idiag_sport = peer.sin_port;
  id.idiag_src[0] = peer.sin_addr.s_addr;
  id.idiag_dport = here.sin_port;
  id.idiag_dst[0] = here.sin_addr.s_addr;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

bool is_ours(const Answer& answer, std::size_t size) {
  if (size < sizeof answer.head) return true;
  if (answer.head.nlmsg_type == NLMSG_ERROR && size >= NLMSG_LENGTH(sizeof answer.failure)) {
    return answer.failure.error != -ENOENT;  // it has gone
  }
  const bool is_found =
      answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY && size >= NLMSG_LENGTH(sizeof answer.found);
  // A closed socket has no inode, and user 0.
  return !is_found || (answer.found.idiag_uid == ::geteuid() && answer.found.idiag_inode != 0);
}

}  // namespace

bool is_of_own_user(int connection) {
  sockaddr_in peer{}, here{};
  socklen_t peer_size = sizeof peer, here_size = sizeof here;
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return false;
  if (::getsockname(connection, reinterpret_cast<sockaddr*>(&here), &here_size) != 0) return false;
  if (peer.sin_family != AF_INET) return true;  // libpmix uses no other
  const Fd socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const Question question = question_about(peer, here);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kKernelPatience, sizeof kKernelPatience);
  if (::send(socket.get(), &question, sizeof question, 0) != sizeof question) return true;
  Answer answer{};
  const ssize_t size = ::recv(socket.get(), &answer, sizeof answer, 0);
  return size < 0 || is_ours(answer, static_cast<std::size_t>(size));
}

}  // namespace dtl::pmix

// In place of the C library's, also for libpmix. The error tells it to go on listening.
extern "C" __attribute__((visibility("default"))) int accept(int listening, sockaddr* address,
                                                             socklen_t* size) {
  const int connection = ::accept4(listening, address, size, SOCK_CLOEXEC);
  if (connection < 0 || dtl::pmix::is_of_own_user(connection)) return connection;
  ::close(connection);
  errno = ECONNABORTED;
  return -1;
}
