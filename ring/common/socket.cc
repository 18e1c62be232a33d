// Socket options are best effort, unless a caller could not work without them: containers and old
// kernels reject some, and links without them are slower, but work.
#include "ring/common/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

// Keepalive probes on an idle connection, in seconds. They start early, to notice a host that
// vanished (power, cable). The number of unanswered probes is not set: if TCP_USER_TIMEOUT is set,
// the kernel uses it instead.
constexpr int kKeepaliveIdle_s = 2;
constexpr int kKeepaliveInterval_s = 2;
// TCP doubles its retransmission timeout, up to 120 s. After an outage of some seconds the next
// retransmission may take as long again, or longer with packet loss. Linux 6.15 can limit this
// timeout.
constexpr int kLongestWait_ms = 1000;
// Older headers lack the constants. Older kernels reject them, which set_option ignores.
#ifndef TCP_RTO_MAX_MS
constexpr int TCP_RTO_MAX_MS = 44;
#endif
#ifndef TCP_THIN_LINEAR_TIMEOUTS
constexpr int TCP_THIN_LINEAR_TIMEOUTS = 16;
#endif

void set_option(int fd, int level, int name, int value) {
  // The result is ignored: without one of these the links still work.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

Fd open_socket(const Address& address) {
  // Sets the flags atomically. With a later fcntl, a program started by another thread in between
  // would inherit the socket.
  Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    throw CommError(DT_E_SYS, address.text() + ": cannot create a socket", errno_text(errno));
  }
  avoid_bbr(fd.get());
  return fd;
}

}  // namespace

void avoid_bbr(int fd) {
  std::array<char, 16> name{};  // the kernel's TCP_CA_NAME_MAX
  socklen_t bytes = name.size() - 1;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes) != 0) return;
  // Includes its later versions, such as bbr2.
  if (!std::string_view(name.data()).starts_with("bbr")) return;
  // Unprivileged users may be denied cubic (net.ipv4.tcp_allowed_congestion_control). By default
  // they may choose reno and the system's default.
  for (const std::string_view other : {"cubic", "reno"}) {
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, other.data(),
                     static_cast<socklen_t>(other.size())) == 0) {
      return;
    }
  }
}

Address::Address(const sockaddr* address, socklen_t bytes) : bytes_(bytes) {
  std::memcpy(&storage_, address, std::min<std::size_t>(bytes, sizeof storage_));
}

int Address::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

Address Address::with_port(int port) const {
  Address copy = *this;
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&copy.storage_)->sin6_port = network_port;
  } else {
    reinterpret_cast<sockaddr_in*>(&copy.storage_)->sin_port = network_port;
  }
  return copy;
}

bool Address::is_unspecified() const {
  if (family() == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
    return IN6_IS_ADDR_UNSPECIFIED(&in6) != 0;
  }
  return reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr == INADDR_ANY;
}

std::string Address::host() const {
  // getnameinfo, not inet_ntop: for link-local IPv6 addresses it adds the interface ("%eth0"),
  // which is needed to connect to the text again.
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(get(), bytes_, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "unknown address";
  }
  return host.data();
}

std::string Address::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host(), port())
                              : fmt::format("{}:{}", host(), port());
}

std::vector<Address> resolve(const std::string& name, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    const int status = error == EAI_MEMORY ? DT_E_NOMEM : DT_E_SYS;
    throw CommError(status, name + ": cannot resolve",
                    error == EAI_SYSTEM ? errno_text(errno) : ::gai_strerror(error),
                    fmt::format("getent hosts {}", name));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    addresses.push_back(Address(entry->ai_addr, entry->ai_addrlen).with_port(port));
  }
  if (addresses.empty()) {
    throw CommError(DT_E_SYS, name + ": cannot resolve", "it has no IP address");
  }
  return addresses;
}

Fd listen_on(const Address& address, int backlog) {
  Fd fd = open_socket(address);
  // A restarted job may use the same port while connections of the last run are in TIME_WAIT.
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  // Otherwise a socket for :: would also take the IPv4 port.
  if (address.family() == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd.get(), address.get(), address.bytes()) != 0 || ::listen(fd.get(), backlog) != 0) {
    throw CommError(DT_E_SYS, address.text() + ": cannot listen", errno_text(errno));
  }
  return fd;
}

Accepted accept_from(int listener) {
  sockaddr_storage from{};
  socklen_t bytes = sizeof from;
  auto* const peer = reinterpret_cast<sockaddr*>(&from);
  Fd fd(::accept4(listener, peer, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.valid()) {
    avoid_bbr(fd.get());  // of a listener that is not ours
    return {std::move(fd), Address(peer, bytes), 0};
  }
  // accept(2) also reports errors of the connection that it removes from the queue. They say
  // nothing about the next one.
  switch (errno) {
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
      throw CommError(DT_E_SYS, "cannot accept a connection", errno_text(errno));
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return {Fd(), Address(), errno};
    default:
      return {};  // no connection, or it has closed already
  }
}

Fd start_connect(const Address& address) {
  Fd fd = open_socket(address);
  if (::connect(fd.get(), address.get(), address.bytes()) != 0 && errno != EINPROGRESS) {
    throw CommError(DT_E_SYS, address.text() + ": cannot connect", errno_text(errno));
  }
  return fd;
}

int pending_error(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

Address local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) {
    throw CommError(DT_E_SYS, "cannot read a socket's own address", errno_text(errno));
  }
  return {reinterpret_cast<const sockaddr*>(&storage), bytes};
}

bool leaves_this_host(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  auto* const peer = reinterpret_cast<sockaddr*>(&storage);
  // If unknown, assume that the bytes leave the host, so encrypt.
  if (::getpeername(fd, peer, &bytes) != 0) return true;
  if (peer->sa_family != AF_INET && peer->sa_family != AF_INET6) return false;
  return Address(peer, bytes).host() != local_address(fd).host();
}

void send_without_delay(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

void notice_dead_hosts(int fd, std::chrono::milliseconds silence) {
  // Keepalives cover an idle connection, TCP_USER_TIMEOUT one with data in flight. The last two
  // options make retransmissions frequent enough to use that time.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdle_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveInterval_s);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
  set_option(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
  set_option(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, kLongestWait_ms);
}

}  // namespace dtl::ring
