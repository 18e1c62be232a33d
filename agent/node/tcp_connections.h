#pragma once
// The kernel's statistics of this node's TCP connections: how much each has sent and how long that
// took. Asked by netlink (sock_diag), as ss(8) does; needs no privilege.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

struct TcpConnection {
  std::uint64_t inode = 0;  // of the socket
  std::string peer;         // address without port
  std::uint64_t acked = 0;  // bytes acknowledged by the peer since it was opened
  // Microseconds since opening while data was unsent or unacknowledged and the peer had room: time
  // spent by the network, without waits for a slow reader.
  std::uint64_t busy_us = 0;
};

// Established connections except loopback. Empty if the kernel does not report them.
std::vector<TcpConnection> tcp_connections();

// One end of a connection in any state, including those closed within the last minute; or a
// listening socket.
struct TcpEnd {
  std::uint64_t inode = 0;  // of the socket; 0: it was closed
  std::uint16_t local_port = 0, peer_port = 0;
  bool listens = false, is_over = false;  // is_over: both ends have closed it
};

// All of this node, including loopback; nullopt if the kernel does not report them.
std::optional<std::vector<TcpEnd>> tcp_ends();

}  // namespace dtl
