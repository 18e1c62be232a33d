#pragma once
// TCP sockets between two hosts of one push: blocking, with waits that end.

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace dtl {

// For connect(2) and bind(2).
struct PeerAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};
// address: numeric, of IPv4 or IPv6; nullopt if it is not. Without getaddrinfo(3), which brings
// plug-ins into a static program.
std::optional<PeerAddress> peer_address(const std::string& address, std::uint16_t port);

// How long one read, write or connect may wait; then it fails with EAGAIN, connect(2) with
// EINPROGRESS.
void set_peer_waits(int socket, std::chrono::milliseconds wait);

}  // namespace dtl
