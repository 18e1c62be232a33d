// socket(7): SO_SNDTIMEO also limits connect(2).
#include "agent/entrance/peer_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/time.h>

namespace dtl {

std::optional<PeerAddress> peer_address(const std::string& address, std::uint16_t port) {
  PeerAddress peer;
  auto* four = reinterpret_cast<sockaddr_in*>(&peer.bytes);
  auto* six = reinterpret_cast<sockaddr_in6*>(&peer.bytes);
  if (::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    peer.size = sizeof *four;
    return peer;
  }
  if (::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) != 1) return std::nullopt;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(port);
  peer.size = sizeof *six;
  return peer;
}

void set_peer_waits(int socket, std::chrono::milliseconds wait) {
  const timeval limit{wait.count() / 1000, wait.count() % 1000 * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

}  // namespace dtl
