// Ports are tried by binding them: a list of used ports is outdated at once. Both families are
// tried, since ranks may listen on either.
#include "agent/node/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/random.h"

namespace dtl {
namespace {

// Preferred for MASTER_PORT: below Linux's own ephemeral range, and above most services.
constexpr std::uint32_t kLowest = 20000, kHighest = 32767;
constexpr int kAttempts = 200;

Fd bound_socket(int family, std::uint16_t port) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fd;
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // connections in TIME_WAIT
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  // Without it the IPv6 socket would also take the IPv4 port, which we already hold.
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const bool is_v4 = family == AF_INET;
  const auto* address =
      is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  const socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
  if (::bind(fd.get(), address, size) != 0) fd.reset();
  return fd;
}

std::uint16_t port_of(const Fd& fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// port 0: the kernel chooses. Others can still bind a bound socket's port with SO_REUSEADDR, but
// not a listening socket's: hence the listen.
std::optional<BoundPort> try_port(std::uint16_t port) {
  BoundPort bound;
  bound.v4 = bound_socket(AF_INET, port);
  if (!bound.v4.valid() || ::listen(bound.v4.get(), SOMAXCONN) != 0) return std::nullopt;
  bound.port = port_of(bound.v4);
  bound.v6 = bound_socket(AF_INET6, bound.port);
  // Any other failure means that the node has no IPv6, so IPv4 alone must do.
  if (bound.v6.valid() ? ::listen(bound.v6.get(), SOMAXCONN) != 0 : errno == EADDRINUSE) {
    return std::nullopt;
  }
  return bound;
}

}  // namespace

BoundPort bind_any_port() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto bound = try_port(0)) return std::move(*bound);
  }
  throw Error(Exit::kConfig, "cannot listen", "no TCP port is free on every address");
}

std::pair<std::uint32_t, std::uint32_t> ephemeral_range() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  std::uint32_t low = 0, high = 0;
  if (file >> low >> high && low <= high) return {low, high};
  return {32768, 60999};
}

BoundPort bind_port_within(std::uint32_t low, std::uint32_t high) {
  const std::string range = std::to_string(low) + ":" + std::to_string(high);
  const Error none(Exit::kConfig, "--port-range " + range, "no TCP port is free", "ss -tln");
  if (high < low) throw none;
  RandomNumbers random;
  // From a random start, so that jobs starting at the same time rarely try the same ports.
  const std::uint32_t count = high - low + 1, first = random() % count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t port = low + (first + i) % count;
    if (auto bound = try_port(static_cast<std::uint16_t>(port))) return std::move(*bound);
  }
  throw none;
}

BoundPort bind_master_port() {
  const auto [low, high] = ephemeral_range();
  RandomNumbers random;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // If the ephemeral range covers the preferred one, take any port outside it.
    const bool anywhere = attempt >= kAttempts / 2;
    const std::uint32_t first = anywhere ? 1024 : kLowest, last = anywhere ? 65535 : kHighest;
    const std::uint32_t port = first + random() % (last - first + 1);
    if (port >= low && port <= high) continue;
    if (auto bound = try_port(static_cast<std::uint16_t>(port))) return std::move(*bound);
  }
  throw Error(Exit::kConfig, "cannot choose MASTER_PORT",
              "no free TCP port outside net.ipv4.ip_local_port_range",
              "sysctl net.ipv4.ip_local_port_range");
}

}  // namespace dtl
