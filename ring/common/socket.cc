// Socket options are best effort, except where a caller could not work without them: containers and
// old kernels refuse some, and a link without them is slower, not wrong.
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

// Probes, in seconds, of a line on which nothing is sent. They start early so that a host that
// vanished without a word (power, cable) is noticed. How many may go unanswered is not set: the
// kernel takes TCP_USER_TIMEOUT instead of a count where both are there.
constexpr int kKeepaliveIdle_s = 2;
constexpr int kKeepaliveInterval_s = 2;
// TCP doubles its waits for an acknowledgement, up to 120 s. After an outage of seconds the next
// retransmission may therefore come as late again, and later where packets are lost. Linux 6.15 has
// a bound for these waits.
constexpr int kLongestWait_ms = 1000;
// Older headers lack the numbers. Older kernels refuse them, which set_option ignores.
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
  // The flags go with the call. With a later fcntl, a program that another thread starts in between
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
  // Also its later versions, such as bbr2.
  if (!std::string_view(name.data()).starts_with("bbr")) return;
  // cubic may be kept from users without privileges (net.ipv4.tcp_allowed_congestion_control). By
  // default they may choose reno and the system's own.
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
  // getnameinfo, not inet_ntop: of a link-local IPv6 address it adds the interface ("%eth0"),
  // without which nobody could connect to the text again.
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
  // A job that restarts may meet at the same port while the last one's connections are in
  // TIME_WAIT.
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  // Otherwise a socket for :: would take the port of IPv4 as well.
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
    return {std::move(fd), Address(peer, bytes)};
  }
  // accept(2) also reports errors of the connection that it takes from the queue. Those say nothing
  // about the next one.
  switch (errno) {
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EMFILE:
    case ENFILE:
      throw CommError(DT_E_SYS, "cannot accept a connection", errno_text(errno));
    default:
      return {};  // none, or one that has gone again
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
  // In doubt the bytes do leave, so they are encrypted.
  if (::getpeername(fd, peer, &bytes) != 0) return true;
  if (peer->sa_family != AF_INET && peer->sa_family != AF_INET6) return false;
  return Address(peer, bytes).host() != local_address(fd).host();
}

void send_without_delay(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

void notice_dead_hosts(int fd, std::chrono::milliseconds silence) {
  // Keepalives cover a line on which nothing is under way, TCP_USER_TIMEOUT one on which something
  // is. The last two make retransmissions come often enough to use that time.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdle_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveInterval_s);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
  set_option(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
  set_option(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, kLongestWait_ms);
}

}  // namespace dtl::ring
